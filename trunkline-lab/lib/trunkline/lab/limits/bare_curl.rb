# frozen_string_literal: true

require "digest"
require "json"
require_relative "program"

module Trunkline
  module Lab
    module Limits
      # The least that a program can do with libcurl (bare_curl.c): one easy handle, reused, or many in a multi handle.
      # Its URL is the same for each request, or distinct: with a number in its query that counts up.
      class BareCurl
        SOURCE = File.join(__dir__, "bare_curl.c")

        # Of Calls::KINDS; its JSON is always the same.
        KINDS = %w[distinct json repeated].freeze
        ORDER = '{"order":1,"customer":"customer-1","items":[{"sku":"TL-100","quantity":2,"price":1999}]}'

        def self.label = "libcurl in C"

        # @param keep [Boolean] one connection for all calls, or a new one for each
        # @param http2 [Boolean] one connection of HTTP/2 for all that is in flight
        # @param proxy [String, nil] its URL
        # @raise [Failed] when it cannot be compiled
        def initialize(base: "", ca_file: nil, keep: true, http2: false, proxy: nil)
          @program = Program.compile(SOURCE, ["-lcurl"])
          @base = base
          @switches = [*(["--cacert", ca_file] if ca_file), *("--fresh" unless keep),
                       *("--http2" if http2), *(["--proxy", proxy] if proxy)]
        end

        # @return [Hash] status, bytes and digest, as a client's worker tells them
        def probe(call:, kind: "repeated")
          body = Program.run(@program, *@switches, *sent(call, kind), "show", url(call))
          { status: 200, bytes: body.bytesize, digest: Digest::SHA256.hexdigest(body) }
        end

        # One after the other.
        # @param cold [Boolean] connecting, and reading the authorities, is part of it
        # @param keep [Boolean] as in #initialize
        def calls(call:, count:, kind: "repeated", cold: true, keep: true)
          sample(*("--cold" if cold), *("--fresh" unless keep), "--requests", count.to_s, *sent(call, kind), "serial",
                 url(call))
        end

        # With so many in flight, on connections that are open by then.
        def many(call:, concurrency:, requests:, kind: "repeated")
          taken = sample("--requests", requests.to_s, "--concurrency", concurrency.to_s, *sent(call, kind),
                         "multi", url(call))
          taken.merge(statuses: { "200": taken[:requests] }, errors: {}, latency: {})
        end

        # @param at_once [Integer, nil] in a multi handle; nil: one after the other
        # @param distinct [Boolean] whether each request has a URL of its own
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
          taken = JSON.parse(Program.run(@program, *@switches, *arguments), symbolize_names: true)
          taken.merge(cpu: taken[:user] + taken[:sys])
        end
      end
    end
  end
end
