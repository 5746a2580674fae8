# frozen_string_literal: true

require_relative "program"

module Trunkline
  module Lab
    module Limits
      # wrk with one thread. Its shortest run is one second.
      class Wrk
        def self.label = "wrk"

        # @raise [Failed] when it is not installed
        def initialize(base: "", **)
          @program = Processes.available?("wrk") or raise Failed, "wrk is not installed"
          @base = base
        end

        # It does not show bodies.
        def probe(**) = { status: 200 }

        def many(call:, concurrency:, **)
          headers = call[:headers].to_h.flat_map { |name, value| ["--header", "#{name}: #{value}"] }
          taken = for_seconds(call[:path], 1, at_once: concurrency, headers: headers)
          taken.merge(statuses: { "200": taken[:requests] }, errors: {}, latency: {})
        end

        # @return [Hash] requests, and wall, user, sys and cpu in seconds
        def for_seconds(path, seconds, at_once: 1, headers: [])
          before = Process.times
          output = Program.run(@program, "--threads", "1", "--connections", (at_once || 1).to_s, "--duration",
                               seconds.ceil.to_s, *headers, "#{@base}#{path}", limit: seconds.ceil + 30)
          raise Failed, "wrk: answers that are not 200" if output.include?("Non-2xx")

          spent = Process.times
          user = spent.cutime - before.cutime
          sys = spent.cstime - before.cstime
          requests, wall = output.match(/(\d+) requests in ([\d.]+)s/).captures
          { requests: requests.to_i, wall: wall.to_f, user: user, sys: sys, cpu: user + sys }
        end
      end
    end
  end
end
