# frozen_string_literal: true

require_relative "../trunkline"
require_relative "httparty"

module Bench
  module Peers
    class HTTPartyFace < HTTParty
      label "HTTParty with install!"
      gems "httparty" => "~> 0.22"

      private

      def open
        Peers::Trunkline.load("trunkline")
        ::Trunkline::NetHTTP.install!
        super
      end
    end
  end
end
