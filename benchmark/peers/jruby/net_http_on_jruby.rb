# frozen_string_literal: true

require "trunkline/lab/peers/net_http"

module Bench
  module Peers
    # A client and a thread for each call in flight.
    class NetHTTPOnJRuby < Trunkline::Lab::Peers::NetHTTP
      label "Net::HTTP with threads, JRuby"
    end
  end
end
