# frozen_string_literal: true

require "strscan"
require_relative "../../retry_after"

module Trunkline
  module Policy
    class Rate
      # Parses the rate limits that a server sends, in the formats that are in use:
      #
      #   RateLimit: "default";r=50;t=30                 draft-ietf-httpapi-ratelimit-headers, from 08 on
      #   RateLimit-Policy: "default";q=100;w=60
      #   RateLimit: limit=100, remaining=50, reset=30   its draft 07
      #   RateLimit-Limit: 100, RateLimit-Remaining: 50, RateLimit-Reset: 30   its drafts 00 to 06
      #   X-RateLimit-Limit, -Remaining, -Reset (or -Reset-After); also X-Rate-Limit-...
      #
      # Malformed fields are ignored.
      module Fields
        # A limit: left: remaining starts, reset: seconds until all starts are available again, limit: starts per
        # period, period: seconds. All members but name and left may be nil.
        RateLimit = Struct.new(:name, :left, :reset, :limit, :period)

        # Larger values of reset are times (seconds since 1970), and still larger ones are in milliseconds.
        LONGEST = 100_000_000
        MILLISECONDS = 100_000_000_000
        # Maximum bytes of a field that are parsed.
        MOST_BYTES = 2048
        # Maximum number of limits that are parsed.
        MOST = 16
        STRING = /"((?:[^"\\]|\\.)*)"/
        TOKEN = /[^\s;,="]+/
        PARAMETER = /\s*;\s*([a-z*][a-z0-9_.*-]*)(?:=("(?:[^"\\]|\\.)*"|[^\s;,"]+))?/
        NUMBER = /\A\s*(-?\d{1,15}(?:\.\d{1,6})?)\s*(?:[,;]|\z)/
        PREFIXES = %w[ratelimit x-ratelimit x-rate-limit].freeze
        private_constant :LONGEST, :MILLISECONDS, :MOST_BYTES, :MOST, :STRING, :TOKEN, :PARAMETER, :NUMBER, :PREFIXES

        class << self
          # @param response [Response]
          # @param now [Time] the wall clock
          # @return [Array<RateLimit>]
          def read(response, now = Time.now)
            field = response["ratelimit"]
            return read_list(field, response["ratelimit-policy"]) if field && !field.include?("remaining=")
            return read_draft7(field, response["ratelimit-policy"]) if field

            PREFIXES.each do |prefix|
              left = number(response["#{prefix}-remaining"]) or next
              return [read_three(prefix, left, response, now)]
            end
            []
          end

          private

          def read_list(field, policies)
            policies = items(policies).to_h
            items(field).filter_map do |name, parameters|
              left = number(parameters["r"]) or next
              policy = policies.fetch(name, {})
              rate_limit(name, left, number(parameters["t"]), number(policy["q"]), number(policy["w"]))
            end
          end

          def read_draft7(field, policies)
            given = field.scan(/(limit|remaining|reset)=(\d{1,15})/).to_h.transform_values(&:to_f)
            period = items(policies).dig(0, 1, "w")
            [rate_limit("", given.fetch("remaining"), given["reset"], given["limit"], number(period))]
          rescue KeyError
            []
          end

          def read_three(prefix, left, response, now)
            reset = number(response["#{prefix}-reset-after"])
            reset ||= number(response["#{prefix}-reset"])&.then { |value| relative(value, response, now) }
            rate_limit("", left, reset, number(response["#{prefix}-limit"]))
          end

          def rate_limit(name, left, reset, limit, period = nil)
            limit = limit.to_i if limit
            RateLimit.new(name, [left.floor, 0].max, reset && [reset, 0.0].max, (limit if limit&.positive?),
                          (period if period&.positive?))
          end

          # @return [Float, nil] the number at the beginning of a value
          def number(text) = text && NUMBER.match(text)&.[](1)&.to_f

          def relative(value, response, now)
            return value if value < LONGEST

            value /= 1000 if value > MILLISECONDS
            value - RetryAfter.server_time(response, now).to_f
          end

          # The members of a List of Structured Fields (RFC 9651 3.1) that are Strings, Tokens or numbers.
          # @return [Array<Array(String, Hash{String => String})>] values and parameters
          def items(text)
            return [] if text.nil?

            scanner = StringScanner.new(text.byteslice(0, MOST_BYTES).scrub("?"))
            found = []
            while found.size < MOST && (item = next_item(scanner))
              found << item
            end
            found
          end

          def next_item(scanner)
            scanner.skip(/[\s,]+/)
            name = scanner.scan(STRING) ? scanner[1] : scanner.scan(TOKEN)
            return if name.nil?

            parameters = {}
            parameters[scanner[1]] = scanner[2] || "1" while scanner.skip(PARAMETER)
            [name, parameters] if scanner.skip(/\s*(?:,|\z)/)
          end
        end
      end
    end
  end
end
