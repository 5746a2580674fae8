# frozen_string_literal: true

require_relative "freshness"

module Trunkline
  module Policy
    class Cache
      # Evaluates the conditions that a caller sent against a stored response (RFC 9110 13.1).
      #
      # @api private
      module Conditions
        TAG = %r{(?:W/)?"[^"]*"|[^\s,]+}n
        private_constant :TAG

        module_function

        # @param fields [Hash{String => String}] of the request
        # @param freshness [Freshness]
        # @return [Boolean] whether the caller's copy is still current, so that the response is a 304
        def holds?(fields, freshness)
          tags = fields["if-none-match"]
          return matches?(tags, freshness.etag) if tags

          since = Freshness.time(fields["if-modified-since"])
          !since.nil? && changed(freshness) <= since
        end

        # RFC 9111 4.3.2: without a Last-Modified, the time at which the response was generated.
        def changed(freshness)
          Freshness.time(freshness.last_modified) || (freshness.received - freshness.initial_age).floor
        end

        # @return [Boolean] whether a part may be returned: there is no If-Range, or it matches the stored response
        def range_applies?(fields, freshness)
          condition = fields["if-range"] or return true
          condition == (condition.start_with?('"') ? freshness.etag : freshness.last_modified)
        end

        # Weak comparison (RFC 9110 8.8.3.2).
        def matches?(tags, etag)
          return true if tags.strip == "*"
          return false unless etag

          wanted = etag.b.delete_prefix("W/")
          tags.b.scan(TAG).any? { |tag| tag.delete_prefix("W/") == wanted }
        end
        private_class_method :changed, :matches?
      end
    end
  end
end
