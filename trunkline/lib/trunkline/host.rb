# frozen_string_literal: true

require "ipaddr"
require_relative "errors"
require_relative "loading"

module Trunkline
  # The host of a URL: a name, an IPv4 address, or an IPv6 address in brackets (RFC 3986 3.2.2).
  #
  # @api private
  module Host
    # Letters, digits, "-" and "_" (used in names of containers); labels of up to 63 characters, 253 characters in all.
    NAME = /\A(?=.{1,254}\z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?\z/
    # A host whose last label is a number is an IPv4 address (WHATWG URL 3.5); a resolver must not read it in another
    # notation.
    NUMERIC = /(?:\A|\.)(?:\d+|0x\h*)\.?\z/
    IPV4 = /\A(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\z)|\z)){4}\z/
    ALLOWED = "a host name, an IPv4 address or an IPv6 address in brackets"

    module_function

    # @param text [String] the host in a URL
    # @param argument [String] name of the argument in errors
    # @return [String] lower case, ASCII (IDNA), IPv6 without brackets
    # @raise [InvalidRequest] when text is not a valid host
    def normalise(text, argument = "url: host")
      return ipv6(text, argument) if text.start_with?("[")

      name = text.ascii_only? ? text.downcase : internationalised(text, argument)
      return name if NUMERIC.match?(name) ? IPV4.match?(name) : NAME.match?(name)

      raise InvalidRequest.of(argument, text, ALLOWED)
    end

    # @param host [String] a name or an address, an IPv6 address with or without brackets
    # @return [String] as in a URL: IPv6 in brackets
    def bracketed(host)
      host.include?(":") && !host.start_with?("[") ? "[#{host}]" : host
    end

    def ipv6(text, argument)
      address = text.match?(/\A\[[\h:.]+\]\z/) ? text[1..-2] : raise(InvalidRequest.of(argument, text, ALLOWED))
      IPAddr.new(address, Socket::AF_INET6)
      address.downcase
    rescue IPAddr::Error
      raise InvalidRequest.of(argument, text, ALLOWED)
    end

    # The gem simpleidn is loaded only for names that are not ASCII. A name in another encoding than UTF-8 is invalid.
    def internationalised(text, argument)
      Loading.in_thread_if_needed { require "simpleidn" }
      raise InvalidRequest.of(argument, text, ALLOWED) unless text.encoding == Encoding::UTF_8

      SimpleIDN.to_ascii(text.unicode_normalize(:nfc)).to_s.downcase
    rescue SimpleIDN::ConversionError, ArgumentError, EncodingError
      raise InvalidRequest.of(argument, text, ALLOWED)
    end

    private_class_method :ipv6, :internationalised
  end
end
