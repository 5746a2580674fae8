# frozen_string_literal: true

require_relative "../digest_field"
require_relative "../redacted"

module Trunkline
  class Download
    # What an answer says of the file: where its bytes belong, how long the whole is, and by what it is known again.
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

      # @return [Integer, nil] the first byte of a part (206)
      def from = @range && @range[1]&.to_i

      # @return [Integer, nil] bytes of the whole
      def total
        return (@range[3].to_i if @range && @range[3] != "*") if [206, 416].include?(@response.status)

        length = @response["content-length"]
        length.to_i if length && !coded?
      end

      # A weak ETag does not do for parts (RFC 9110 13.1.5), nor does an answer with a coding that was not asked for.
      # @return [String, nil] for If-Range
      def validator
        return if coded?

        etag = @response["etag"]
        return etag if etag && !etag.start_with?("W/")

        @response["last-modified"] if strong_date?
      end

      # @return [Boolean] whether parts of it may be asked for
      def ranges? = validator && @response["accept-ranges"].to_s.strip.downcase != "none"

      # @return [Boolean] whether the bytes were coded on the way
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

      # A date is strong when it is a second older than the answer (RFC 9110 8.8.2.2).
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
