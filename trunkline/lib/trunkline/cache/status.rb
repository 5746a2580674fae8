# frozen_string_literal: true

module Trunkline
  module Cache
    # What the cache has done for a call: Response#cache. Frozen.
    #
    #   response.cache.hit?  # whether the answer came from the cache, and nothing was sent for it
    #   response.cache.to_s  # as a member of the field Cache-Status (RFC 9211): "trunkline; hit; ttl=42"
    class Status
      # @return [Symbol, nil] why the request was sent: :bypass (the call does not use the cache), :method, :uri_miss
      #   (nothing is kept for the URL), :vary_miss (only for other fields of the request), :stale, or :request (the
      #   call asked for it); nil for a hit
      attr_reader :forward
      # @return [Integer, nil] the status that came back, when it is not the answer's: 304 of a validation
      attr_reader :forward_status
      # @return [Integer, nil] seconds for which the answer stays fresh, below 0 of a stale one; nil when it is not kept
      attr_reader :ttl
      # @return [String, nil] why a stale answer was given
      attr_reader :detail

      # @param ttl [Integer]
      # @return [Status]
      def self.hit(ttl, detail = nil) = new(nil, nil, ttl, false, false, detail)

      # @return [Status]
      def self.forwarded(why, status: nil, ttl: nil, stored: false, collapsed: false)
        new(why, status, ttl, stored, collapsed, nil)
      end

      def initialize(forward, forward_status, ttl, stored, collapsed, detail)
        @forward = forward
        @forward_status = forward_status
        @ttl = ttl
        @stored = stored
        @collapsed = collapsed
        @detail = detail
        freeze
      end

      # @return [Boolean] whether it is a kept answer: nothing was sent, or that failed and a stale one is given
      def hit? = @forward.nil?

      # @return [Boolean] whether the server said that the kept answer still holds
      def revalidated? = @forward_status == 304

      # @return [Boolean] whether the answer was kept, or renewed, by this call
      def stored? = @stored

      # @return [Boolean] whether the call had the answer of another call's request (coalesce:)
      def collapsed? = @collapsed

      # @return [String]
      def to_s
        parameters = { "fwd" => @forward&.name&.tr("_", "-"), "fwd-status" => @forward_status, "ttl" => @ttl,
                       "detail" => @detail }.compact.map { |pair| pair.join("=") }
        flags = { "hit" => hit?, "stored" => @stored, "collapsed" => @collapsed }.select { |_, set| set }.keys
        ["trunkline", *flags, *parameters].join("; ")
      end

      # @return [String]
      def inspect = "#<#{self.class} #{self}>"
    end
  end
end
