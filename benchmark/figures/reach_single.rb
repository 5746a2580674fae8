# frozen_string_literal: true

require_relative "../support/figure"
require_relative "../support/http2"

module Bench
  module Figures
    # One call after the other over HTTP/2, against HTTP/1.1 with TLS.
    class ReachSingle
      BAR = 2

      def title = "One GET at a time, distinct URLs"

      def call(suite)
        HTTP2.verify(suite)
        HTTP2.with_ours(suite) do |http2|
          suite.with_ours(base: suite.origin.tls, ca_file: suite.origin.ca_file) do |http1|
            samples = suite.repeat { [http2, http1].shuffle.to_h { |ours| [ours, time(ours, suite)] } }
            suite.add_cost(title, samples.map { |sample| sample[http2] * 1e6 }, "over HTTP/2", "us")
            suite.add_cost(title, samples.map { |sample| sample[http1] * 1e6 }, "over HTTP/1.1 with TLS", "us")
            suite.add_cost(title, samples.map { |sample| sample[http2] / sample[http1] },
                           "time over HTTP/2 against HTTP/1.1 with TLS", "x", bar: BAR)
          end
        end
      end

      private

      def time(ours, suite)
        taken = ours.ask(:gets, path: Origin::SMALL, urls: "distinct", seconds: suite.options.seconds)
        taken[:wall] / taken[:requests]
      end
    end
  end
end
