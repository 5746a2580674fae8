# frozen_string_literal: true

require_relative "../digest_field"
require_relative "../redacted"

module Trunkline
  class Download
    # The fields of a response that describe the file: the position of its bytes, the total size, and the validator.
    #
    # @api private
    class Representation
      include Redacted

      RANGE = %r{\A\s*bytes\s+(?:(\d+)-(\d+)|\*)/(\d+|\*)\s*\z}i

      # @param response [Response]
      def initialize(response)
        @response = response
        @range = RANGE.match(response["content-range"].to_s)
      end

      # @return [Integer, nil] position of the first byte of a partial response (206)
      def from = @range && @range[1]&.to_i

      # @return [Integer, nil] size of the whole file in bytes
      def total
        return (@range[3].to_i if @range && @range[3] != "*") if [206, 416].include?(@response.status)

        length = @response["content-length"]
        length.to_i if length && !coded?
      end

      # Parts need a strong ETag (RFC 9110 13.1.5) and a body without a content coding, since none was requested.
      # @return [String, nil] for If-Range
      def validator
        return if coded?

        etag = @response["etag"]
        return etag if etag && !etag.start_with?("W/")

        @response["last-modified"] if strong_date?
      end

      # @return [Boolean] whether parts of the file can be requested
      def ranges? = validator && @response["accept-ranges"].to_s.strip.downcase != "none"

      # @return [Boolean] whether the body has a content coding
      def coded?
        coding = @response["content-encoding"].to_s.strip.downcase
        !["", "identity"].include?(coding)
      end

      # @return [Hash{String => String}] digests of the whole file, by their algorithms (RFC 9530)
      def digests
        return {} if coded?

        content = @response.status == 200 ? DigestField.parse(@response["content-digest"]) : {}
        content.merge(DigestField.parse(@response["repr-digest"]))
      end

      private

      # Last-Modified is a strong validator when it is at least a second before the Date (RFC 9110 8.8.2.2).
      def strong_date?
        changed = date("last-modified")
        now = date("date")
        changed && now && changed <= now - 1
      end

      def date(name)
        Time.httpdate(@response[name].to_s)
      rescue ArgumentError
        nil
      end
    end
  end
end
