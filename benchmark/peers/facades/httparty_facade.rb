# frozen_string_literal: true

require_relative "httparty"

module Bench
  module Peers
    class HTTPartyFacade < HTTParty
      label "HTTParty with install!"
      ours "trunkline"

      private

      def open
        require "trunkline"
        ::Trunkline.configure { |defaults| defaults.busy_poll = false }
        ::Trunkline::NetHTTP.install!
        super
      end
    end
  end
end
