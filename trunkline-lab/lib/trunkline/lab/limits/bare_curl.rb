# frozen_string_literal: true

require "digest"
require "json"
require_relative "program"

module Trunkline
  module Lab
    module Limits
      # The minimal program with libcurl (bare_curl.c): one reused easy handle, or many in a multi handle. The URL is
      # the same for each request, or distinct by a number in its query that counts up.
      class BareCurl
        SOURCE = File.join(__dir__, "bare_curl.c")

        # A subset of Calls::KINDS; the JSON is always the same.
        KINDS = %w[distinct json repeated].freeze
        ORDER = '{"order":1,"customer":"customer-1","items":[{"sku":"TL-100","quantity":2,"price":1999}]}'

        def self.label = "libcurl in C"

        # @param keep [Boolean] whether one connection makes all calls; false for a new one for each
        # @param http2 [Boolean] whether all calls in flight share one HTTP/2 connection
        # @param proxy [String, nil] URL of a proxy
        # @param core [Integer] the core to which the program is bound
        # @raise [Failed] when the program cannot be compiled
        def initialize(base: "", ca_file: nil, keep: true, http2: false, proxy: nil, core: Processes::CLIENT_CORE)
          @program = Program.compile(SOURCE, ["-lcurl"])
          @base = base
          @core = core
          @switches = [*(["--cacert", ca_file] if ca_file), *("--fresh" unless keep),
                       *("--http2" if http2), *(["--proxy", proxy] if proxy)]
        end

        # @return [Hash] status, bytes and digest, as a client's worker returns them
        def probe(call:, kind: "repeated")
          body = Program.run(@program, *@switches, *sent(call, kind), "show", url(call))
          { status: 200, bytes: body.bytesize, digest: Digest::SHA256.hexdigest(body) }
        end

        # Makes calls one after another.
        # @param cold [Boolean] whether connecting and reading the authorities is measured
        # @param keep [Boolean] as in #initialize
        def calls(call:, count:, kind: "repeated", cold: true, keep: true)
          sample(*("--cold" if cold), *("--fresh" unless keep), "--requests", count.to_s, *sent(call, kind), "serial",
                 url(call))
        end

        # Makes calls with `concurrency` of them in flight, on connections that are already open.
        def many(call:, concurrency:, requests:, kind: "repeated")
          taken = sample("--requests", requests.to_s, "--concurrency", concurrency.to_s, *sent(call, kind),
                         "multi", url(call))
          taken.merge(statuses: { "200": taken[:requests] }, errors: {}, latency: {})
        end

        # @param at_once [Integer, nil] calls in flight in a multi handle; nil for one after another
        # @param distinct [Boolean] whether each request has a different URL
        def for_seconds(path, seconds, at_once: nil, distinct: false)
          mode = at_once ? ["--concurrency", at_once.to_s, "multi"] : ["serial"]
          sample("--seconds", seconds.to_s, *("--distinct" if distinct), *mode, "#{@base}#{path}")
        end

        private

        def url(call) = "#{@base}#{call[:path]}"

        def sent(call, kind)
          switches = call[:headers].to_h.flat_map { |name, value| ["--header", "#{name}: #{value}"] }
          switches.push("--distinct") if kind == "distinct"
          switches.push("--data", kind == "json" ? ORDER : call[:body].to_s) if call[:verb] == "POST"
          switches
        end

        def sample(*arguments)
          taken = JSON.parse(Program.run(@program, *@switches, *arguments, core: @core), symbolize_names: true)
          taken.merge(cpu: taken[:user] + taken[:sys])
        end
      end
    end
  end
end
