# frozen_string_literal: true

require "time"
require_relative "../../redacted"
require_relative "directives"

module Trunkline
  module Policy
    class Cache
      Freshness = Struct.new(:status, :received, :initial_age, :lifetime, :no_cache, :strict, :while_revalidate,
                             :if_error, :etag, :last_modified)

      # How long an answer may be used, and how (RFC 9111 4.2 and 5.2.2, RFC 5861). Times are seconds; of the wall
      # clock, because a store may outlive the process. Frozen.
      #
      #   status         of the answer
      #   received       when it was complete (Float, since 1970)
      #   initial_age    how old it was then
      #   lifetime       at which age it is stale
      #   no_cache       whether it must be validated before each use
      #   strict         whether it must not be used when it is stale (must-revalidate)
      #   while_revalidate, if_error
      #                  for how long a stale one may be used while it is validated, and when that fails
      #   etag, last_modified
      #                  validators, or nil
      class Freshness
        include Redacted

        # Statuses that may be kept without being told so (RFC 9110 15.1).
        HEURISTICALLY = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].freeze
        # Seconds of a lifetime that nobody has told.
        LONGEST_GUESS = 86_400
        # Seconds for which what can be validated is kept when it is stale.
        STALE_KEPT = 604_800
        # Seconds.
        CENTURY = 36_525 * 86_400
        HALF_A_CENTURY = CENTURY / 2
        # Statuses whose rules for caches are known here.
        UNDERSTOOD = [*HEURISTICALLY, 302, 303, 307, 400, 401, 403, 406, 409, 422, 429, 500, 502, 503, 504].freeze
        private_constant :CENTURY, :HALF_A_CENTURY, :UNDERSTOOD, :HEURISTICALLY, :LONGEST_GUESS, :STALE_KEPT

        # @param answer [Response]
        # @param asked_at [Float] when the request was begun
        # @param received [Float]
        # @param settings [Hash] heuristic, stale_while_revalidate, stale_if_error: of the policy
        # @return [Freshness]
        def self.of(answer, asked_at, received, settings)
          directives = Directives.of(answer["cache-control"])
          date = time(answer["date"]) || received.floor
          new(answer.status, received, initial_age(answer, date, asked_at, received),
              lifetime(answer, directives, date, settings[:heuristic]),
              directives.key?("no-cache"), directives.key?("must-revalidate"),
              directives.seconds("stale-while-revalidate") || settings[:stale_while_revalidate],
              directives.seconds("stale-if-error") || settings[:stale_if_error],
              answer["etag"], answer["last-modified"])
        end

        # @param answer [Response]
        # @param directives [Directives] its own
        # @return [Boolean] whether a private cache may keep it (RFC 9111 3)
        def self.storable?(answer, directives)
          status = answer.status
          return false if [206, 304].include?(status) || answer["vary"]&.include?("*")
          return UNDERSTOOD.include?(status) if directives.key?("must-understand")
          return false if forbidden?(directives)

          directives.key?("max-age") || !answer["expires"].nil? || directives.key?("private") ||
            heuristically?(answer, directives)
        end

        # @return [Boolean] whether an answer says that it must not be kept (RFC 9111 5.2.2.3, 5.2.2.5)
        def self.forbidden?(directives) = directives.key?("no-store") && !directives.key?("must-understand")

        # RFC 9111 4.2.3
        def self.initial_age(answer, date, asked_at, received)
          # Of several, the first counts; what is no number does not (RFC 9111 5.1).
          told = answer["age"].to_s[/\A\d+(?=\s*(?:[,;]|\z))/].to_i
          [received.floor - date, told + (received - asked_at), 0].max.to_f
        end

        # RFC 9111 4.2.1, of a cache that one caller uses
        def self.lifetime(answer, directives, date, heuristic)
          explicit = directives.seconds("max-age")
          return explicit.to_f if explicit
          return [(time(answer["expires"]) || date) - date, 0].max.to_f if answer["expires"]

          guess(answer, directives, date, heuristic)
        end

        # RFC 9111 4.2.2
        def self.guess(answer, directives, date, heuristic)
          return 0.0 unless heuristic.positive? && heuristically?(answer, directives)

          changed = time(answer["last-modified"]) or return 0.0
          ((date - changed) * heuristic).clamp(0, LONGEST_GUESS).to_f
        end

        # @return [Boolean]
        def self.heuristically?(answer, directives)
          HEURISTICALLY.include?(answer.status) || directives.key?("public")
        end

        # @param text [String, nil] an HTTP date
        # @return [Integer, nil] seconds since 1970; nil when it is none
        def self.time(text)
          return unless text

          seconds = Time.httpdate(text).to_i
          # Two digits of a year are never more than 50 years in the past (RFC 9110 5.6.7).
          text.include?("-") && seconds < Time.now.to_i - HALF_A_CENTURY ? seconds + CENTURY : seconds
        rescue ArgumentError
          nil
        end

        private_class_method :initial_age, :lifetime, :guess

        def initialize(*)
          super
          freeze
        end

        # @param now [Float] wall clock
        # @return [Float] seconds
        def age(now) = initial_age + [now - received, 0].max

        # @param age [Float] seconds; as the answer was received, if it is not given
        # @return [Integer] seconds for which it stays fresh, below 0 of a stale one
        def ttl(age = initial_age) = lifetime.to_i - age.to_i

        # @return [Boolean] whether the server can be asked if it still holds
        def validator? = !etag.nil? || !last_modified.nil?

        # @return [Array<Array(String, String)>] fields that ask for it
        def conditions
          [(["If-None-Match", etag] if etag), (["If-Modified-Since", last_modified] if last_modified)].compact
        end

        # @param response [Response] a 304, or the answer to a HEAD
        # @return [Boolean] whether it is about this answer (RFC 9111 4.3.4)
        def of_same?(response)
          newer = response["etag"]
          return plain(newer) == plain(etag) if newer && etag

          newer = response["last-modified"]
          newer.nil? || last_modified.nil? || newer == last_modified
        end

        # @return [Float] seconds for which a store keeps the answer: while it may be used, and what can be validated
        #   a week longer
        def kept_for
          stale = [while_revalidate, if_error, validator? ? STALE_KEPT : 0].max
          [lifetime - initial_age, 0].max + stale
        end

        # @return [Boolean] whether there is use in keeping the answer
        def useful?
          validator? || (!no_cache && (lifetime.positive? || [while_revalidate, if_error].max.positive?))
        end

        # @return [Boolean] whether all of it can have been found out by .of
        def sound?
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
