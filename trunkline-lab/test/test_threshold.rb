# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/threshold"

module Trunkline
  module Lab
    class TestThreshold < Minitest::Test
      include Running

      # 98 calls of 1 ms and two of 80 ms in a second, of which one failed.
      RUN = { latency: Histogram.of(1000 => 98, 80_000 => 2), errors: 1, requests: 100, wall: 1.0, cpu: 0.02 }.freeze

      def crossed(text) = Threshold.new(text).crossed(RUN)

      def test_reports_the_value_beyond_a_limit
        assert_equal "--fail-if p99>50ms: it is 80 ms.", crossed("p99>50ms").sub(/80\.\d+/, "80")
        ["max > 79ms", "mean>2ms", "p50>=900us", "p99.9>0.05s", "requests/s<101", "errors>0", "errors>=1%",
         "cpu>199us"].each { |text| assert_includes crossed(text).to_s, "--fail-if #{text}: it is ", text }
      end

      def test_reports_nothing_within_a_limit
        ["p50>50ms", "p99<1ms", "max>81ms", "mean>3ms", "requests/s<100", "errors>1", "errors>1%",
         "cpu>200us"].each { |text| assert_nil crossed(text), text }
      end

      def test_a_run_without_a_call_is_beyond_every_limit
        run = RUN.merge(latency: Histogram.new, requests: 0)

        ["p99>50ms", "errors>1%", "cpu>1s"].each do |text|
          assert_match(/nothing was measured/, Threshold.new(text).crossed(run))
        end
      end

      def test_load_exits_with_4_beyond_a_limit
        status, out, = lab("load", "-n", "20", "--quiet", "--fail-if", "p50>0us", "--fail-if", "errors>0", "short")

        assert_equal CROSSED, status
        assert_match(/^--fail-if p50>0us: it is \d+ us\.$/, out)
        refute_includes out, "errors>0"
        assert_equal DONE, lab("load", "-n", "20", "--accept-noise", "--fail-if", "p50>50s", "short").first
      end

      # One of three calls fails, after the first call, which tests whether there is a server.
      def test_a_limit_of_errors_is_the_number_of_calls_that_may_fail
        requests = 0
        script = lambda do |connection|
          while connection.request
            connection.answer("x", status: (requests += 1) == 3 ? "500 Internal Server Error" : "200 OK")
          end
        end
        [["errors>50%", DONE], ["errors>1", DONE], ["errors>=1", CROSSED], ["p50>50s", FAILED]].each do |limit, exits|
          requests = 0
          Origins::Scripted.open(script) do |server|
            status, = lab("load", "-n", "3", "--accept-noise", "--fail-if", limit, "#{server.plain}/")

            assert_equal exits, status, limit
          end
        end
      end
    end
  end
end
