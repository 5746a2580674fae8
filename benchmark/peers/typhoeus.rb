# frozen_string_literal: true

module Bench
  module Peers
    class Typhoeus < Peer
      label "Typhoeus, newest"
      gems "typhoeus" => ">= 1.7", "ethon" => ">= 0.19"

      # The handles' connections live in the hydra.
      def list(path, count, at_once)
        options = @client ||= open
        hydra = (@hydras ||= {})[at_once] ||= ::Typhoeus::Hydra.new(max_concurrency: at_once)
        count.times do
          request = ::Typhoeus::Request.new("#{@base}#{path}", options)
          request.on_complete { |response| yield checked(response) }
          hydra.queue(request)
        end
        hydra.run
      end

      private

      # Typhoeus keeps its handles, and so their connections, in a pool of the process: there is no client to open.
      def open
        load_typhoeus
        { timeout: @timeout, connecttimeout: @timeout,
          forbid_reuse: !@keep }.merge(@ca_file ? { cainfo: @ca_file } : {})
      end

      def fetch(options, path)
        checked(::Typhoeus.get("#{@base}#{path}", options))
      end

      def load_typhoeus = require("typhoeus")

      def checked(response)
        raise "#{response.return_code} without an exception" if response.code.zero?

        body_of(response.code, response.body)
      end

      def close(_options) = ::Typhoeus::Pool.clear
    end
  end
end
