# frozen_string_literal: true

module Bench
  module Figures
    # CPU of a call that needs a new, fully verified TLS connection, with the system's CA bundle plus our test CA. The
    # origin resumes no session. A process reads the bundle once; that first call is a separate figure.
    class FreshTLS
      CALLS = 100

      def title = "Fresh verified TLS connection, distinct URLs"

      def call(suite)
        firsts = []
        samples = suite.repeat { take(suite, firsts) }
        suite.add(Figure.of(samples, name: "fresh TLS connection, distinct URLs, system's CA bundle, CPU",
                                     unit: "ms", bar: 2, reach: 1.3, better: "lower"))
        suite.add(Figure.of(firsts, name: "first call of a process, one URL (loads the client and the bundle), CPU",
                                    unit: "ms", better: "lower"))
        add_bare_curl(suite)
      end

      private

      def take(suite, firsts)
        suite.with_ours(base: suite.origin.fresh_tls, ca_file: suite.origin.bundle_file) do |ours|
          firsts << (ours.ask(:calls, path: Origin::SMALL, count: 1)[:cpu] * 1000)
          sample = nil
          opened = suite.origin.connections { sample = ours.ask(:calls, path: Origin::SMALL, count: CALLS) }
          raise PeerProcess::Failed, "#{opened} connections for #{CALLS} calls" unless opened == CALLS

          sample[:cpu] / CALLS * 1000
        end
      end

      def add_bare_curl(suite)
        curl = Limits::BareCurl.new(base: suite.origin.fresh_tls, ca_file: suite.origin.bundle_file, keep: false)
        samples = suite.repeat do
          sample = curl.calls(call: { path: Origin::SMALL }, kind: "distinct", count: CALLS, cold: false)
          sample[:cpu] / CALLS * 1000
        end
        suite.add(Figure.of(samples, name: "fresh TLS connection, distinct URLs, by the bare libcurl program, CPU",
                                     unit: "ms", better: "lower"))
      end
    end
  end
end
