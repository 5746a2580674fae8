# frozen_string_literal: true

require_relative "program"
require_relative "../cache"

module Trunkline
  module Lab
    module Limits
      # wrk with one thread. Its shortest duration is one second; when it is interrupted, it reports its results up to
      # then.
      class Wrk
        SECONDS = 0.4
        # Composes one request and then increments the number in it, which costs wrk less than wrk.format for each
        # request.
        DISTINCT = <<~LUA
          local head, tail
          local number = 1000000

          function init()
            local mark = "@number@"
            local path = wrk.path .. (wrk.path:find("?", 1, true) and "&" or "?") .. mark
            local text = wrk.format(nil, path)
            local first, last = text:find(mark, 1, true)
            head, tail = text:sub(1, first - 1), text:sub(last + 1)
          end

          function request()
            number = number + 1
            return head .. number .. tail
          end
        LUA

        # A subset of Calls::KINDS.
        KINDS = %w[distinct repeated].freeze

        def self.label = "wrk"

        # @raise [Failed] when wrk is not installed
        def initialize(base: "", **)
          @program = Processes.available?("wrk") or raise Failed, "wrk is not installed"
          @base = base
        end

        # wrk does not print bodies.
        def probe(**) = { status: 200 }

        def many(call:, concurrency:, kind: "repeated", **)
          headers = call[:headers].to_h.flat_map { |name, value| ["--header", "#{name}: #{value}"] }
          taken = for_seconds(call[:path], 1, at_once: concurrency, distinct: kind == "distinct", headers: headers,
                                              wrapper: interrupter)
          taken.merge(statuses: { "200": taken[:requests] }, errors: {}, latency: {})
        end

        # @param distinct [Boolean] whether each request has a different URL
        # @param wrapper [Array<String>] a command that runs wrk
        # @return [Hash] requests, and wall, user, sys and cpu in seconds
        def for_seconds(path, seconds, at_once: 1, distinct: false, headers: [], wrapper: [])
          before = Process.times
          output = Program.run(*wrapper, @program, "--threads", "1", "--connections", (at_once || 1).to_s, "--duration",
                               seconds.ceil.to_s, *(script if distinct), *headers, "#{@base}#{path}",
                               limit: seconds.ceil + 30)
          raise Failed, "wrk: responses with another status than 200" if output.include?("Non-2xx")

          spent = Process.times
          user = spent.cutime - before.cutime
          sys = spent.cstime - before.cstime
          requests, wall, unit = output.match(/(\d+) requests in ([\d.]+)(m?s)/).captures
          wall = unit == "ms" ? wall.to_f / 1000 : wall.to_f
          { requests: requests.to_i, wall: wall, user: user, sys: sys, cpu: user + sys }
        end

        private

        def script
          file = File.join(Cache.directory("bin"), "distinct.lua")
          File.write(file, DISTINCT) unless File.exist?(file) && File.read(file) == DISTINCT
          ["--script", file]
        end

        def interrupter
          timeout = Processes.available?("timeout")
          timeout ? [timeout, "--preserve-status", "--signal=INT", SECONDS.to_s] : []
        end
      end
    end
  end
end
