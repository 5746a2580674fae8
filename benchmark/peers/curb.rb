# frozen_string_literal: true

module Bench
  module Peers
    class Curb < Peer
      label "curb"
      gems "curb" => ">= 1.4"

      # Each easy handle is added again when it is done, until there are enough.
      def list(path, count, at_once)
        multi = @multi ||= new_multi
        easies = (@easies ||= {})[at_once] ||= Array.new(at_once) { open }
        left = count
        easies.each do |easy|
          easy.url = "#{@base}#{path}"
          easy.on_complete do |done|
            yield body_of(done.response_code, done.body_str)
            multi.add(done) if (left -= 1) >= at_once
          end
          multi.add(easy)
        end
        multi.perform
      end

      private

      def new_multi
        require "curb"
        ::Curl::Multi.new
      end

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
