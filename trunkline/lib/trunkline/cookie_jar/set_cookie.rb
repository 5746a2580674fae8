# frozen_string_literal: true

require_relative "../ows"
require_relative "../redacted"

module Trunkline
  class CookieJar
    # A parsed Set-Cookie field (RFC 6265bis 5.6). CookieJar decides whether the cookie is stored. SameSite and unknown
    # attributes are ignored.
    #
    # @api private
    class SetCookie
      include Redacted

      # The limits of RFC 6265bis 5.6 and 5.5. MAX_AGE is in seconds: 400 days.
      PAIR_BYTES = 4096
      ATTRIBUTE_BYTES = 1024
      MAX_AGE = 400 * 86_400
      CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
      TAB = /\t/
      PATH = %r{\A/[^\t]*\z}
      private_constant :PAIR_BYTES, :ATTRIBUTE_BYTES, :MAX_AGE, :CONTROL, :TAB, :PATH

      class << self
        # @param field [String] a value of Set-Cookie: one cookie, even if it contains commas
        # @param now [Time]
        # @return [SetCookie, nil] nil for a field to be ignored: no name, control characters, or too long
        def parse(field, now)
          field = field.b
          pair, *attributes = field.split(";", -1)
          name, equals, value = parts(pair.to_s)
          return if equals.empty? || name.empty? || name.bytesize + value.bytesize > PAIR_BYTES
          return if CONTROL.match?(field) || TAB.match?(name) || TAB.match?(value)

          new(name, value, attributes, now)
        end

        # @return [Array(String, String, String)] the text before the first "=", the "=" itself, and the text after it
        def parts(text)
          text.partition("=").map { |part| OWS.strip(part) }
        end
      end

      # @return [String] as received, including quotes
      attr_reader :name, :value
      # @return [String, nil] in lower case, without a leading dot
      attr_reader :domain
      # @return [String, nil] nil unless it begins with "/"
      attr_reader :path
      # @return [Time, nil] nil for a session cookie
      attr_reader :expires

      # If an attribute occurs more than once, the last one counts. Max-Age overrides Expires in any order.
      def initialize(name, value, attributes, now)
        @name = name
        @value = value
        last = attributes.map { |attribute| SetCookie.parts(attribute) }
          .reject { |_, _, text| text.bytesize > ATTRIBUTE_BYTES }
          .to_h { |key, _, text| [key.downcase, text] }
        @domain = last["domain"].to_s.delete_prefix(".").downcase
        @domain = nil if @domain.empty?
        @path = last["path"] if last["path"]&.match?(PATH)
        @expires = expiry(last["max-age"], last["expires"], now)
        @secure = last.key?("secure")
        @http_only = last.key?("httponly")
        freeze
      end

      def secure? = @secure
      def http_only? = @http_only

      private

      # Returns nil, which makes a session cookie, if neither attribute can be parsed.
      def expiry(max_age, date, now)
        return now + max_age.to_i.clamp(0, MAX_AGE) if max_age&.match?(/\A-?\d+\z/)

        time = date && HTTP::Cookie::Scanner.new("").parse_cookie_date(date)
        [time, now + MAX_AGE].min if time
      end
    end
  end
end
