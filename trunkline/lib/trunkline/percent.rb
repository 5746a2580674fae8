# frozen_string_literal: true

module Trunkline
  # Percent-encoding (RFC 3986 2.1).
  #
  # @api private
  module Percent
    # A path or query that needs no encoding: unreserved characters, sub-delims, ":@/?", brackets (which servers and
    # browsers do not encode), and percent-encoded bytes.
    CLEAN = %r{\A(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?\[\]]|%\h\h)*\z}
    UNCLEAN = %r{%(?!\h\h)|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?\[\]%]}n

    # A name or value of a form or query that needs no encoding.
    PLAIN = /\A[A-Za-z0-9\-._~]*\z/
    SPECIAL = /[^A-Za-z0-9\-._~ ]/n
    USERINFO = /\A(?:[A-Za-z0-9\-._~!$&'()*+,;=:]|%\h\h)*\z/

    module_function

    # Encodes the bytes that must be encoded in a path or query. Percent-encoded bytes are not encoded again.
    # @return [String]
    def clean(text)
      return text if CLEAN.match?(text)

      text.b.gsub(UNCLEAN) { |byte| format("%%%02X", byte.ord) }.force_encoding(Encoding::UTF_8)
    end

    # Encodes one name or value of application/x-www-form-urlencoded: a space becomes "+".
    # @return [String]
    def form(text)
      return text if text.ascii_only? && PLAIN.match?(text)

      text.b.gsub(SPECIAL) { |byte| format("%%%02X", byte.ord) }.tr(" ", "+").force_encoding(Encoding::UTF_8)
    end

    # Encodes all but unreserved characters (RFC 3986 2.3), for example in a part of a userinfo. A space becomes "%20".
    # @return [String]
    def component(text)
      form(text).gsub("+", "%20")
    end

    # @param text [String] "user:password" or "user" (RFC 3986 3.2.1)
    # @return [Array(String, String), nil] user and password, decoded and frozen; nil when the text has characters that
    #   must be percent-encoded
    def userinfo(text)
      return unless USERINFO.match?(text)

      user, password = text.split(":", 2)
      [decode(user).freeze, decode(password || "").freeze].freeze
    end

    # @return [String]
    def decode(text)
      text.b.gsub(/%(\h\h)/n) { Regexp.last_match(1).hex.chr }.force_encoding(Encoding::UTF_8)
    end
  end
end
