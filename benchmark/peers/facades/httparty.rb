# frozen_string_literal: true

require_relative "../../support/peer"

module Bench
  module Peers
    class HTTParty < Peer
      label "HTTParty"
      gems "httparty" => "~> 0.22"

      private

      def open
        require "httparty"
        { timeout: @timeout, format: :plain, **(@ca_file ? { ssl_ca_file: @ca_file } : {}) }
      end

      def fetch(options, path)
        response = ::HTTParty.get("#{@base}#{path}", options)
        body_of(response.code, response.body)
      end
    end
  end
end
