# frozen_string_literal: true

module Trunkline
  module Cache
    # How the cache handled a call, see Response#cache. Frozen.
    #
    #   response.cache.hit?  # whether the response came from the cache, without a request
    #   response.cache.to_s  # as a member of the field Cache-Status (RFC 9211): "trunkline; hit; ttl=42"
    class Status
      # @return [Symbol, nil] why the request was sent: :bypass (the call does not use the cache), :method (not a GET or
      #   HEAD), :uri_miss (nothing is stored for the URL), :vary_miss (only responses to other values of the fields in
      #   Vary), :stale, or :request (the call demanded it); nil for a hit
      attr_reader :forward
      # @return [Integer, nil] the status that the server sent, when it is not the response's: 304 for a validation
      attr_reader :forward_status
      # @return [Integer, nil] seconds until the response becomes stale, negative for a stale one; nil when it is not
      #   stored
      attr_reader :ttl
      # @return [String, nil] why a stale response was returned
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

      # @return [Boolean] whether a stored response was returned: no request was sent, or it failed and the response is
      #   stale
      def hit? = @forward.nil?

      # @return [Boolean] whether the server confirmed the stored response by a 304
      def revalidated? = @forward_status == 304

      # @return [Boolean] whether this call stored or updated the response
      def stored? = @stored

      # @return [Boolean] whether the call got the response to another call's request (coalesce:)
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
