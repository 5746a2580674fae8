# frozen_string_literal: true

require_relative "httparty"

module Bench
  module Peers
    class HTTPartyFacade < HTTParty
      label "HTTParty with install!"
      local_gems "trunkline"

      private

      def open
        require "trunkline"
        ::Trunkline::NetHTTP.install!
        super
      end
    end
  end
end
