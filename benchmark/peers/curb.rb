# frozen_string_literal: true

module Bench
  module Peers
    class Curb < Peer
      label "curb"
      gems "curb" => ">= 1.4"

      private

      def open
        require "curb"
        ::Curl::Easy.new.tap do |easy|
          easy.cacert = @ca_file if @ca_file
          easy.timeout = easy.connect_timeout = @timeout
        end
      end

      def fetch(easy, path)
        easy.url = "#{@base}#{path}"
        easy.perform
        body_of(easy.response_code, easy.body_str)
      end

      def close(easy) = easy.close
    end
  end
end
