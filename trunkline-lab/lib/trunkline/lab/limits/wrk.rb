# frozen_string_literal: true

require_relative "program"

module Trunkline
  module Lab
    module Limits
      # wrk with one thread. The shortest run that it can be told is one second; interrupted, it says what it has.
      class Wrk
        SECONDS = 0.4

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
          taken = for_seconds(call[:path], 1, at_once: concurrency, headers: headers, wrapper: interrupter)
          taken.merge(statuses: { "200": taken[:requests] }, errors: {}, latency: {})
        end

        # @param wrapper [Array<String>] a command that runs it
        # @return [Hash] requests, and wall, user, sys and cpu in seconds
        def for_seconds(path, seconds, at_once: 1, headers: [], wrapper: [])
          before = Process.times
          output = Program.run(*wrapper, @program, "--threads", "1", "--connections", (at_once || 1).to_s, "--duration",
                               seconds.ceil.to_s, *headers, "#{@base}#{path}", limit: seconds.ceil + 30)
          raise Failed, "wrk: answers that are not 200" if output.include?("Non-2xx")

          spent = Process.times
          user = spent.cutime - before.cutime
          sys = spent.cstime - before.cstime
          requests, wall, unit = output.match(/(\d+) requests in ([\d.]+)(m?s)/).captures
          wall = unit == "ms" ? wall.to_f / 1000 : wall.to_f
          { requests: requests.to_i, wall: wall, user: user, sys: sys, cpu: user + sys }
        end

        private

        def interrupter
          timeout = Processes.available?("timeout")
          timeout ? [timeout, "--preserve-status", "--signal=INT", SECONDS.to_s] : []
        end
      end
    end
  end
end
