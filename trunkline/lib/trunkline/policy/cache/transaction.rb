# frozen_string_literal: true

require_relative "../../cache"
require_relative "../../errors"
require_relative "../../redacted"
require_relative "byte_range"
require_relative "conditions"
require_relative "reuse"

module Trunkline
  module Policy
    class Cache
      # Handles one GET or HEAD: returns the stored response, or sends the request and stores its response.
      class Transaction
        include Redacted

        # RFC 5861 4
        FAILED = [500, 502, 503, 504].freeze
        # Errors that are not failures of the server, so that stale-if-error does not apply.
        CALLERS = [ClosedError, RactorError, Cancelled, BodyError, AnswerError].freeze
        Status = Trunkline::Cache::Status
        private_constant :FAILED, :CALLERS, :Status

        # @param cache [Cache]
        # @param asked [PresentedRequest]
        # @param call [Call]
        def initialize(cache, asked, call)
          @cache = cache
          @asked = asked
          @call = call
          @stored = @variants = nil
          @read_at = cache.revalidations.count
          cache.storage.find(asked) do |answer, variants|
            @stored = answer unless leads_elsewhere?(answer)
            @variants = variants
          end
        end

        # @yield [request] sends the request and returns its Response
        # @return [Response]
        # @raise [Error]
        def answer(&forward)
          age = age_now
          use = @stored ? Reuse.of(@asked.fields.directives, @stored.freshness, age) : absence
          given = give(use, age) if @stored
          return given if given
          return unavailable if @asked.fields.directives.key?("only-if-cached")

          send_on(use == :expired ? :stale : use, &forward)
        end

        private

        # Whether the stored response is a redirect, stored by a call without follow:, that this call would follow.
        def leads_elsewhere?(answer)
          answer && @asked.request.follow && Redirect::STATUSES.include?(answer.freshness.status)
        end

        def age_now = @stored&.freshness&.age(@cache.clock)

        def absence = @variants ? :vary_miss : :uri_miss

        # ---- from the store ----

        # @return [Response, nil]
        def give(use, age)
          case use
          when :fresh then hit(age, :hits)
          when :stale then hit(age, :stale)
          when :while_revalidate
            hit(age, :stale)&.tap { validate_in_background }
          end
        end

        def hit(age, counted, detail = nil)
          response = stored_response(age) or return
          @cache.count(counted, @asked)
          response._cached(Status.hit(@stored.freshness.ttl(age), detail))
        end

        # @param age [Float, nil]
        # @return [Response, nil] nil for a range that must come from the server
        def stored_response(age)
          request = @asked.request
          return @stored.response(request, age) if @asked.fields.plain?

          if @asked.fields.conditional?
            return @stored.not_modified(request, age) if Conditions.holds?(@asked.fields.values, @stored.freshness)
          elsif @asked.fields.values.key?("range") && !@asked.head?
            return part(age)
          end
          @stored.response(request, age)
        end

        def part(age)
          fields = @asked.fields.values
          return @stored.response(@asked.request, age) unless Conditions.same_whole?(fields, @stored.freshness)

          bytes = ByteRange.of(fields["range"], @stored.body.bytesize) if @stored.whole?
          @stored.part(@asked.request, age, bytes) if bytes
        end

        # RFC 9111 5.2.1.7
        def unavailable
          @cache.count(:misses, @asked)
          Response.made(@asked.request, 504, "Gateway Timeout", [%w[Content-Length 0]], "")._attempted([].freeze)
            ._as_asked._cached(Status.forwarded(absence))
        end

        # ---- from the server ----

        def send_on(why, &forward)
          begun = @cache.clock
          response = yield(validates? ? with_conditions(@asked.request) : @asked.request)
          settle(response, why, begun, &forward)
        rescue Error => error
          raise if CALLERS.any? { |one| error.is_a?(one) }

          instead_of_failure(why) || raise
        end

        # A conditional request of the caller keeps the caller's conditions, so no validators are added.
        def validates? = !@asked.fields.conditional? && @stored&.freshness&.validator?

        def with_conditions(request)
          Policy.add_fields(request, @stored.freshness.conditions, @call.builder)
        end

        def settle(response, why, begun, &forward)
          return validated(response, begun) if confirms?(response)
          return again(response, why, &forward) if response.status == 304 && validates?

          stale = instead_of_failure(why) if FAILED.include?(response.status)
          return kept(response, why, begun) unless stale

          response._discard
          stale
        end

        # @return [Boolean] whether the response confirms that the stored one is current
        def confirms?(response)
          response.status == 304 && validates? && response.redirects.empty? && @stored.freshness.of_same?(response)
        end

        # Sends the request again without conditions: the 304 was not about the stored response.
        def again(response, why)
          response._discard
          @cache.storage.forget([@asked.key])
          @call.reason = :again
          begun = @cache.clock
          kept(yield(@asked.request), why, begun)
        end

        def validated(response, begun)
          renewed = renew?(response, begun)
          @cache.count(:revalidated, @asked)
          (stored_response(nil) || @stored.response(@asked.request, nil))
            ._sent_as(response._discard)
            ._cached(Status.forwarded(:stale, status: 304, ttl: @stored.freshness.ttl, stored: renewed))
        end

        # @param response [Response] with newer fields for the stored response
        # @return [Boolean] whether the updated response is stored
        def renew?(response, begun)
          @stored = @stored.updated(response) { |fields| @cache.freshness(fields, begun) }
          @cache.keep?(@asked, @stored, response, @variants)
        rescue ProtocolError # the merged head exceeds the limits of a response
          @cache.storage.forget([@asked.key])
          false
        end

        def instead_of_failure(why)
          return unless why == :stale

          age = age_now
          return unless Reuse.instead_of_error?(@asked.fields.directives, @stored.freshness, age)

          hit(age, :stale, "stale-if-error")
        end

        def kept(response, why, begun)
          @cache.count(:misses, @asked)
          kept = keep?(response, begun)
          ttl = @stored.freshness.ttl if kept
          response._cached(Status.forwarded(why, ttl: ttl, stored: kept, collapsed: response.shared?))
        end

        # @return [Boolean] whether the response is stored, and set as @stored
        def keep?(response, begun)
          return keep_head?(response, begun) if @asked.head?

          answer = @cache.storable(response, begun)
          return @cache.keep?(@asked, @stored = answer, response, @variants) if answer

          keep_when_read(response, begun) if response.request.streaming?
          # A newer response that cannot be stored invalidates the stored one.
          replaced = @stored && response.status < 500 && ![206, 304].include?(response.status)
          @cache.storage.forget([@asked.key]) if replaced
          false
        end

        def keep_when_read(response, begun)
          @cache.when_read(response, begun) { |answer| @cache.keep?(@asked, answer, response, @variants) }
        end

        # RFC 9111 4.3.5
        def keep_head?(response, begun)
          return false unless @stored && response.status == 200 && response.redirects.empty?
          return renew?(response, begun) if @stored.same_as_head?(response)

          @cache.storage.forget([@asked.key])
          false
        end

        # ---- in the background ----

        def validate_in_background
          return unless @cache.revalidations.begin?(@asked.key, @read_at)

          begun = @cache.clock
          @call.in_background(@cache, whole_request) { |result| refresh(result, begun) }
        rescue Error
          @cache.revalidations.end(@asked.key) # the client was closed; the caller has its response already
        end

        # Requests the whole response, without the caller's conditions and ranges.
        def whole_request
          request = @asked.request
          request = request._with(request.content, false) if request.streaming?
          fields = PresentedFields::CONDITIONS + PresentedFields::PARTS
          Policy.add_fields(request, fields.map { |name| [name, nil] } + @stored.freshness.conditions, @call.builder)
        end

        def refresh(result, begun)
          return unless result.is_a?(Response)

          if result.status == 304
            @stored.freshness.of_same?(result) ? renew?(result, begun) : @cache.storage.forget([@asked.key])
          elsif !FAILED.include?(result.status)
            keep?(result, begun)
          end
        ensure
          @cache.revalidations.end(@asked.key)
        end
      end
    end
  end
end
