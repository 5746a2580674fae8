# frozen_string_literal: true

require_relative "../cache"
require_relative "../errors"
require_relative "../redacted"
require_relative "policy_options"
require_relative "state"
require_relative "cache/freshness"
require_relative "cache/storing_stream"
require_relative "cache/presented_request"
require_relative "cache/revalidations"
require_relative "cache/storage"
require_relative "cache/stored_response"
require_relative "cache/transaction"

module Trunkline
  module Policy
    # Stores responses and reuses them as RFC 9111 allows a private cache to. See docs/cache.md.
    class Cache
      include Redacted

      READS = %w[GET HEAD].freeze
      # Safe methods (RFC 9110 9.2.1) do not invalidate stored responses.
      SAFE = [*READS, "OPTIONS", "TRACE"].freeze
      METHODS = %i[read write delete].freeze
      STORE = PolicyOptions::Check.new("an object with read, write and delete",
                                       ->(value) { value if METHODS.all? { |name| value.respond_to?(name) } })
      OPTIONS = PolicyOptions.new(:cache,
                                  store: [nil, STORE],
                                  heuristic: [0.0, PolicyOptions.number(0.0..1.0)],
                                  stale_while_revalidate: [0.0, PolicyOptions.seconds(2_592_000)],
                                  stale_if_error: [0.0, PolicyOptions.seconds(2_592_000)],
                                  max_entry_bytes: [Trunkline::Cache::MAX_ENTRY_BYTES,
                                                    PolicyOptions.integer(1024..(2**31))])
      private_constant :READS, :SAFE, :METHODS, :STORE

      # Counters of one origin; see docs/cache.md.
      COUNTS = { hits: 0, stale: 0, revalidated: 0, misses: 0, stored: 0 }.freeze
      private_constant :COUNTS

      # @param value [true, Hash, #read, Cache]
      # @return [Cache]
      # @raise [InvalidRequest]
      def self.of(value)
        return value if value.is_a?(Cache)
        return new(**OPTIONS.read(value)) if value == true || value.is_a?(Hash)
        return new(**OPTIONS.read({ store: value })) if STORE.call(value)

        allowed = "true, false, #{STORE.allowed}, or a Hash of #{OPTIONS.names.join(", ")}"
        raise InvalidRequest.of(:cache, value, allowed)
      end

      # @return [Hash{String => Hash{Symbol => Integer}}] counters by origin
      def self.stats
        State.all(:cache).transform_values(&:dup)
      end

      # @return [Storage]
      attr_reader :storage
      # @return [Revalidations]
      attr_reader :revalidations

      # @param store [#read, nil] nil for a new Trunkline::Cache::Memory
      # @param max_entry_bytes [Integer] size of the largest response to store
      # @param rules [Hash] heuristic, stale_while_revalidate, stale_if_error
      def initialize(store:, max_entry_bytes:, **rules)
        @storage = Storage.new(store || Trunkline::Cache::Memory.new)
        @max_entry_bytes = max_entry_bytes
        @rules = rules.freeze
        @revalidations = Revalidations.new
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      # @raise [Error]
      def call(request, call, &forward)
        response = READS.include?(request.method) ? read(request, call, &forward) : change(request, call, &forward)
        call.notify(:cache) { { request: request, result: response, status: response.cache.to_s } }
        response
      end

      # @return [Float] seconds of the wall clock
      def clock = Process.clock_gettime(Process::CLOCK_REALTIME)

      # @param fields [Response] whose header fields are read
      # @param begun [Float] when its request began, seconds of the wall clock
      # @return [Freshness]
      def freshness(fields, begun) = Freshness.of(fields, begun, clock, @rules)

      # @param response [Response] to a GET
      # @param begun [Float] when its request began, seconds of the wall clock
      # @return [StoredResponse, nil] nil when the response must not be stored (RFC 9111 3) or is not worth storing
      def storable(response, begun)
        return if response.request.streaming? || !response.complete? || response.length_unknown?

        freshness = usable(response, begun)
        stored_response(response, response.body.b, freshness) if freshness
      end

      # Stores a streamed response when its body has been read to the end.
      #
      # @param response [Response] to a GET, with its head received
      # @param begun [Float] when its request began, seconds of the wall clock
      # @yield [stored] later, in the thread that reads the body
      # @yieldparam stored [StoredResponse]
      # @return [void]
      def when_read(response, begun)
        freshness = usable(response, begun)
        return if freshness.nil? || response["content-length"].to_i > @max_entry_bytes

        response.extend(StoringStream).store_when_read(@max_entry_bytes) do |body|
          stored = stored_response(response, body, freshness)
          yield stored if stored
        end
      end

      # @param presented [PresentedRequest]
      # @param stored [StoredResponse] to store
      # @param response [Response] from the server, whose Cache-Control decides
      # @param variants [Variants, nil] found in the store for the request
      # @return [Boolean] whether the response is stored
      def store?(presented, stored, response, variants)
        if Freshness.forbidden?(Directives.of(response["cache-control"]))
          storage.delete([presented.key])
          return false
        end
        return true if response.shared? # the call that sent the request stores the response

        names = Variants.names(stored.vary)
        storage.store(presented, stored, names, variants)
        count(:stored, presented)
        true
      end

      # @param name [Symbol] one of COUNTS
      # @param presented [PresentedRequest]
      # @return [void]
      def count(name, presented)
        State.change(:cache, presented.label, COUNTS) { |counts| counts[name] += 1 }
      end

      private

      def read(request, call, &forward)
        presented = PresentedRequest.new(request, call) unless request.content?
        return bypass(yield(request)) if presented.nil? || presented.fields.bypasses?

        Transaction.new(self, presented, call).run(&forward)
      end

      # @return [Freshness, nil] nil when the response must not be stored or could never be reused
      def usable(response, begun)
        directives = Directives.of(response["cache-control"])
        return unless response.redirects.empty? && Freshness.storable?(response, directives)

        freshness = freshness(response, begun)
        freshness if freshness.useful?
      end

      # @return [StoredResponse, nil]
      def stored_response(response, body, freshness)
        stored = StoredResponse.of(response, body, freshness)
        stored if stored.bytesize <= @max_entry_bytes && stored.to_response(response.request)
      rescue ProtocolError
        nil # max_header_bytes: or max_headers: accepted a head that Engine.response refuses to parse
      end

      def bypass(response) = response._set_cache_status(Trunkline::Cache::Status.forwarded(:bypass))

      # Removes the stored responses that an unsafe request may have changed (RFC 9111 4.4).
      def change(request, call)
        response = yield request
        changed = changed_urls([*response.redirects, response])
        unless changed.empty?
          sent = (response.redirects.first || response).request
          presented = PresentedRequest.new(request, call, call.signer ? call.with_policy_fields(request) : sent)
          storage.delete(changed.flat_map { |url| presented.keys_of(url) })
        end
        response._set_cache_status(Trunkline::Cache::Status.forwarded(:method))
      end

      def changed_urls(responses)
        responses.reject { |response| SAFE.include?(response.request.method) || response.status >= 400 }
          .flat_map { |response| [response.request.url, *named_urls(response)] }.uniq
      end

      # URLs in Location and Content-Location that have the origin of the request.
      def named_urls(response)
        response.headers.to_h.values_at("location", "content-location").compact.filter_map do |reference|
          url = response.request.uri.follow(reference)
          url.to_s if url.origin == response.request.uri.origin
        rescue InvalidRequest
          nil
        end
      end
    end
  end
end
