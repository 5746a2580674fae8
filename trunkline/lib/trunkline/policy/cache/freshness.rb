# frozen_string_literal: true

require "time"
require_relative "../../redacted"
require_relative "directives"

module Trunkline
  module Policy
    class Cache
      Freshness = Struct.new(:status, :received, :initial_age, :lifetime, :no_cache, :strict, :while_revalidate,
                             :if_error, :etag, :last_modified)

      # How long a response may be reused, and how (RFC 9111 4.2 and 5.2.2, RFC 5861). Durations are in seconds, times
      # in seconds of the wall clock, because a store may outlive the process. Frozen.
      #
      #   status         of the response
      #   received       when the response was complete (Float, since 1970)
      #   initial_age    age of the response at that time
      #   lifetime       age at which the response becomes stale
      #   no_cache       whether the response must be validated before each use
      #   strict         whether the response must not be used when it is stale (must-revalidate)
      #   while_revalidate, if_error
      #                  how long a stale response may be used while it is validated, and when the validation fails
      #   etag, last_modified
      #                  validators, or nil
      class Freshness
        include Redacted

        # Statuses that may be stored without explicit permission (RFC 9110 15.1).
        HEURISTICALLY_CACHEABLE = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].freeze
        # Maximum heuristic lifetime in seconds.
        LONGEST_HEURISTIC = 86_400
        # Seconds for which a stale response with a validator stays in the store.
        STALE_STORAGE = 604_800
        # Seconds.
        CENTURY = 36_525 * 86_400
        HALF_A_CENTURY = CENTURY / 2
        # Statuses whose caching rules this cache implements, for must-understand.
        UNDERSTOOD = [*HEURISTICALLY_CACHEABLE,
                      302, 303, 307, 400, 401, 403, 406, 409, 422, 429, 500, 502, 503, 504].freeze
        private_constant :CENTURY, :HALF_A_CENTURY, :UNDERSTOOD, :HEURISTICALLY_CACHEABLE, :LONGEST_HEURISTIC,
                         :STALE_STORAGE

        # @param response [Response]
        # @param request_time [Float] when the request began
        # @param received [Float]
        # @param options [Hash] heuristic, stale_while_revalidate and stale_if_error of the policy
        # @return [Freshness]
        def self.of(response, request_time, received, options)
          directives = Directives.of(response["cache-control"])
          date = time(response["date"]) || received.floor
          new(response.status, received, initial_age(response, date, request_time, received),
              lifetime(response, directives, date, options[:heuristic]),
              directives.key?("no-cache"), directives.key?("must-revalidate"),
              directives.seconds("stale-while-revalidate") || options[:stale_while_revalidate],
              directives.seconds("stale-if-error") || options[:stale_if_error],
              response["etag"], response["last-modified"])
        end

        # @param response [Response]
        # @param directives [Directives] of the response
        # @return [Boolean] whether a private cache may store the response (RFC 9111 3)
        def self.storable?(response, directives)
          status = response.status
          return false if [206, 304].include?(status) || response["vary"]&.include?("*")
          return UNDERSTOOD.include?(status) if directives.key?("must-understand")
          return false if forbidden?(directives)

          directives.key?("max-age") || !response["expires"].nil? || directives.key?("private") ||
            heuristically_cacheable?(response, directives)
        end

        # @return [Boolean] whether a response forbids storing it (RFC 9111 5.2.2.3, 5.2.2.5)
        def self.forbidden?(directives) = directives.key?("no-store") && !directives.key?("must-understand")

        # RFC 9111 4.2.3
        def self.initial_age(response, date, request_time, received)
          # The first of several values counts; a value that is not a number is ignored (RFC 9111 5.1).
          age_value = response["age"].to_s[/\A\d+(?=\s*(?:[,;]|\z))/].to_i
          [received.floor - date, age_value + (received - request_time), 0].max.to_f
        end

        # RFC 9111 4.2.1, for a private cache
        def self.lifetime(response, directives, date, heuristic)
          explicit = directives.seconds("max-age")
          return explicit.to_f if explicit
          return [(time(response["expires"]) || date) - date, 0].max.to_f if response["expires"]

          heuristic_lifetime(response, directives, date, heuristic)
        end

        # RFC 9111 4.2.2
        def self.heuristic_lifetime(response, directives, date, heuristic)
          return 0.0 unless heuristic.positive? && heuristically_cacheable?(response, directives)

          changed = time(response["last-modified"]) or return 0.0
          ((date - changed) * heuristic).clamp(0, LONGEST_HEURISTIC).to_f
        end

        # @return [Boolean]
        def self.heuristically_cacheable?(response, directives)
          HEURISTICALLY_CACHEABLE.include?(response.status) || directives.key?("public")
        end

        # @param text [String, nil] an HTTP date
        # @return [Integer, nil] seconds since 1970; nil for an invalid date
        def self.time(text)
          return unless text

          seconds = Time.httpdate(text).to_i
          # Time.httpdate reads the two-digit years 50 to 99 as 19xx; one more than 50 years ago is 20xx (RFC 9110
          # 5.6.7).
          text.include?("-") && seconds < Time.now.to_i - HALF_A_CENTURY ? seconds + CENTURY : seconds
        rescue ArgumentError
          nil
        end

        private_class_method :initial_age, :lifetime, :heuristic_lifetime

        def initialize(*)
          super
          freeze
        end

        # @param now [Float] wall clock
        # @return [Float] seconds
        def age(now) = initial_age + [now - received, 0].max

        # @param age [Float] seconds; by default the age when the response was received
        # @return [Integer] seconds until the response becomes stale; negative for a stale one
        def ttl(age = initial_age) = lifetime.to_i - age.to_i

        # @return [Boolean] whether the server can validate the response
        def validator? = !etag.nil? || !last_modified.nil?

        # @return [Array<Array(String, String)>] request fields for the validation
        def conditions
          [(["If-None-Match", etag] if etag), (["If-Modified-Since", last_modified] if last_modified)].compact
        end

        # @param response [Response] a 304, or the response to a HEAD
        # @return [Boolean] whether it describes this stored response (RFC 9111 4.3.4)
        def describes?(response)
          newer = response["etag"]
          return plain(newer) == plain(etag) if newer && etag

          newer = response["last-modified"]
          newer.nil? || last_modified.nil? || newer == last_modified
        end

        # @return [Float] seconds for which a store keeps the response: as long as it may be used, and with a validator
        #   at least a week after it has become stale
        def storage_seconds
          stale = [while_revalidate, if_error, validator? ? STALE_STORAGE : 0].max
          [lifetime - initial_age, 0].max + stale
        end

        # @return [Boolean] whether a stored response could ever be reused
        def useful?
          validator? || (!no_cache && (lifetime.positive? || [while_revalidate, if_error].max.positive?))
        end

        # @return [Boolean] whether all members have types that .of can have set
        def valid_types?
          status.is_a?(Integer) && [no_cache, strict].all? { |flag| [true, false].include?(flag) } &&
            [received, initial_age, lifetime, while_revalidate, if_error].all?(Numeric) &&
            [etag, last_modified].all? { |value| value.nil? || value.is_a?(String) }
        end

        private

        # Weak comparison (RFC 9110 8.8.3.2).
        def plain(tag) = tag.delete_prefix("W/")
      end
    end
  end
end
