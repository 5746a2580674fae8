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
        LOCAL_ERRORS = [ClosedError, RactorError, Cancelled, BodyError, AnswerError].freeze
        Status = Trunkline::Cache::Status
        private_constant :FAILED, :LOCAL_ERRORS, :Status

        # @param cache [Cache]
        # @param presented [PresentedRequest]
        # @param call [Call]
        def initialize(cache, presented, call)
          @cache = cache
          @presented = presented
          @call = call
          @stored = @variants = nil
          @read_at = cache.revalidations.count
          cache.storage.find(presented) do |stored, variants|
            @stored = stored unless redirect_to_follow?(stored)
            @variants = variants
          end
        end

        # @yield [request] sends the request and returns its Response
        # @return [Response]
        # @raise [Error]
        def run(&forward)
          age = age_now
          use = @stored ? Reuse.of(@presented.fields.directives, @stored.freshness, age) : miss_reason
          reused = reuse_stored(use, age) if @stored
          return reused if reused
          return unavailable if @presented.fields.directives.key?("only-if-cached")

          request_server(use == :expired ? :stale : use, &forward)
        end

        private

        # Whether the stored response is a redirect, stored by a call without follow:, that this call would follow.
        def redirect_to_follow?(stored)
          stored && @presented.request.follow && Redirect::STATUSES.include?(stored.freshness.status)
        end

        def age_now = @stored&.freshness&.age(@cache.clock)

        def miss_reason = @variants ? :vary_miss : :uri_miss

        # ---- from the store ----

        # @return [Response, nil]
        def reuse_stored(use, age)
          case use
          when :fresh then hit(age, :hits)
          when :stale then hit(age, :stale)
          when :while_revalidate
            hit(age, :stale)&.tap { validate_in_background }
          end
        end

        def hit(age, counted, detail = nil)
          response = response_from_store(age) or return
          @cache.count(counted, @presented)
          response._set_cache_status(Status.hit(@stored.freshness.ttl(age), detail))
        end

        # @param age [Float, nil]
        # @return [Response, nil] nil for a range that must come from the server
        def response_from_store(age)
          request = @presented.request
          return @stored.response(request, age) if @presented.fields.plain?

          if @presented.fields.conditional?
            return @stored.not_modified(request, age) if Conditions.holds?(@presented.fields.values, @stored.freshness)
          elsif @presented.fields.values.key?("range") && !@presented.head?
            return partial_content(age)
          end
          @stored.response(request, age)
        end

        def partial_content(age)
          fields = @presented.fields.values
          return @stored.response(@presented.request, age) unless Conditions.range_applies?(fields, @stored.freshness)

          bytes = ByteRange.of(fields["range"], @stored.body.bytesize) if @stored.ranges?
          @stored.partial_content(@presented.request, age, bytes) if bytes
        end

        # RFC 9111 5.2.1.7
        def unavailable
          @cache.count(:misses, @presented)
          Response.from_parts(@presented.request, 504, "Gateway Timeout", [%w[Content-Length 0]], "")
            ._set_attempts([].freeze)._streamed_if_requested._set_cache_status(Status.forwarded(miss_reason))
        end

        # ---- from the server ----

        def request_server(why, &forward)
          begun = @cache.clock
          response = yield(validates? ? with_conditions(@presented.request) : @presented.request)
          handle_response(response, why, begun, &forward)
        rescue Error => error
          raise if LOCAL_ERRORS.any? { |one| error.is_a?(one) }

          instead_of_failure(why) || raise
        end

        # A conditional request of the caller keeps the caller's conditions, so no validators are added.
        def validates? = !@presented.fields.conditional? && @stored&.freshness&.validator?

        def with_conditions(request)
          Policy.add_fields(request, @stored.freshness.conditions, @call.builder)
        end

        def handle_response(response, why, begun, &forward)
          return validated(response, begun) if confirms?(response)
          return resend(response, why, &forward) if response.status == 304 && validates?

          stale = instead_of_failure(why) if FAILED.include?(response.status)
          return miss(response, why, begun) unless stale

          response._discard
          stale
        end

        # @return [Boolean] whether the response confirms that the stored one is current
        def confirms?(response)
          response.status == 304 && validates? && response.redirects.empty? && @stored.freshness.describes?(response)
        end

        # Sends the request again without conditions: the 304 was not about the stored response.
        def resend(response, why)
          response._discard
          @cache.storage.delete([@presented.key])
          @call.reason = :again
          begun = @cache.clock
          miss(yield(@presented.request), why, begun)
        end

        def validated(response, begun)
          renewed = renew?(response, begun)
          @cache.count(:revalidated, @presented)
          (response_from_store(nil) || @stored.response(@presented.request, nil))
            ._copy_transport_from(response._discard)
            ._set_cache_status(Status.forwarded(:stale, status: 304, ttl: @stored.freshness.ttl, stored: renewed))
        end

        # @param response [Response] with newer fields for the stored response
        # @return [Boolean] whether the updated response is stored
        def renew?(response, begun)
          @stored = @stored.updated(response) { |fields| @cache.freshness(fields, begun) }
          @cache.store?(@presented, @stored, response, @variants)
        rescue ProtocolError # the merged head exceeds the limits of a response
          @cache.storage.delete([@presented.key])
          false
        end

        def instead_of_failure(why)
          return unless why == :stale

          age = age_now
          return unless Reuse.instead_of_error?(@presented.fields.directives, @stored.freshness, age)

          hit(age, :stale, "stale-if-error")
        end

        def miss(response, why, begun)
          @cache.count(:misses, @presented)
          stored = store?(response, begun)
          ttl = @stored.freshness.ttl if stored
          response._set_cache_status(Status.forwarded(why, ttl: ttl, stored: stored, collapsed: response.shared?))
        end

        # @return [Boolean] whether the response is stored, and set as @stored
        def store?(response, begun)
          return store_head?(response, begun) if @presented.head?

          storable = @cache.storable(response, begun)
          return @cache.store?(@presented, @stored = storable, response, @variants) if storable

          store_when_read(response, begun) if response.request.streaming?
          # A newer response that cannot be stored invalidates the stored one.
          replaced = @stored && response.status < 500 && ![206, 304].include?(response.status)
          @cache.storage.delete([@presented.key]) if replaced
          false
        end

        def store_when_read(response, begun)
          @cache.when_read(response, begun) { |stored| @cache.store?(@presented, stored, response, @variants) }
        end

        # RFC 9111 4.3.5
        def store_head?(response, begun)
          return false unless @stored && response.status == 200 && response.redirects.empty?
          return renew?(response, begun) if @stored.same_as_head?(response)

          @cache.storage.delete([@presented.key])
          false
        end

        # ---- in the background ----

        def validate_in_background
          return unless @cache.revalidations.begin?(@presented.key, @read_at)

          begun = @cache.clock
          @call.in_background(@cache, unconditional_request) { |result| refresh(result, begun) }
        rescue Error
          @cache.revalidations.end(@presented.key) # the client was closed; the caller has its response already
        end

        # Requests the whole response, without the caller's conditions and ranges.
        def unconditional_request
          request = @presented.request
          request = request._with(request.content, false) if request.streaming?
          fields = PresentedFields::CONDITIONS + PresentedFields::RANGE_FIELDS
          Policy.add_fields(request, fields.map { |name| [name, nil] } + @stored.freshness.conditions, @call.builder)
        end

        def refresh(result, begun)
          return unless result.is_a?(Response)

          if result.status == 304
            @stored.freshness.describes?(result) ? renew?(result, begun) : @cache.storage.delete([@presented.key])
          elsif !FAILED.include?(result.status)
            store?(result, begun)
          end
        ensure
          @cache.revalidations.end(@presented.key)
        end
      end
    end
  end
end
