# frozen_string_literal: true

module Bench
  module Peers
    class Typhoeus < Peer
      label "Typhoeus, newest"
      gems "typhoeus" => ">= 1.7", "ethon" => ">= 0.19"

      private

      # Typhoeus keeps its handles, and so their connections, in a pool of the process: there is no client to open.
      def open
        require "typhoeus"
        { timeout: @timeout, connecttimeout: @timeout,
          forbid_reuse: !@keep }.merge(@ca_file ? { cainfo: @ca_file } : {})
      end

      def fetch(options, path)
        response = ::Typhoeus.get("#{@base}#{path}", options)
        raise "#{response.return_code} without an exception" if response.code.zero?

        body_of(response.code, response.body)
      end

      def close(_options) = ::Typhoeus::Pool.clear
    end
  end
end
