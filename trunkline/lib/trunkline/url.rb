# frozen_string_literal: true

require "uri"
require_relative "errors"
require_relative "host"
require_relative "percent"
require_relative "redacted"

module Trunkline
  # An http or https URL, checked and normalised, frozen (RFC 3986, RFC 9110 4.2). It has no fragment, because a
  # fragment is never sent. Its userinfo is used for basic authentication; #to_s and #inspect do not show it.
  class URL
    include Redacted

    # Scheme, userinfo, host, port, path, query.
    ABSOLUTE = %r{\A(https?)://(?:([^@/?#]*)@)?(\[[^\]/?#]*\]|[^:/?#@\[\]]*)(?::([^/?#]*))?
                  ([^?#]*)(?:\?([^#]*))?(?:\#.*)?\z}imx
    RELATIVE = /\A([^?#]*)(?:\?([^#]*))?(?:#.*)?\z/m
    SCHEME = /\A[A-Za-z][A-Za-z0-9+.-]*:/
    HIERARCHICAL = %r{\A[A-Za-z][A-Za-z0-9+.-]*://}
    CONTROL = /[\x00-\x1f\x7f]/n
    ALLOWED = "an absolute http:// or https:// URL"
    PORTS = { "http" => 80, "https" => 443 }.freeze

    # @return [String] "http" or "https"
    attr_reader :scheme
    # @return [String] in lower case and ASCII; IPv6 addresses without brackets
    attr_reader :host
    # @return [Integer]
    attr_reader :port
    # @return [String] at least "/"
    attr_reader :path
    # @return [String, nil] without "?"
    attr_reader :query
    # @return [String] the value of the Host field: "api.test", "api.test:8080", "[::1]:8080"
    attr_reader :authority
    # @return [String] "api.test:443": host and port, for messages
    attr_reader :label
    # @return [String] "https://api.test": scheme, host and port (RFC 6454)
    attr_reader :origin
    # @return [Array(String, String), nil] user and password from the URL, decoded
    attr_reader :userinfo

    class << self
      # @param text [String, URI, Addressable::URI, URL]
      # @return [URL]
      # @raise [InvalidRequest] when it is not an absolute http or https URL
      def parse(text)
        return text if text.is_a?(URL)

        text = checked(text)
        match = ABSOLUTE.match(text)
        scheme, userinfo, host, port, path, query = match&.captures
        raise refusal(text) unless match && (path.empty? || path.start_with?("/"))

        scheme = scheme.downcase
        new(scheme, Host.normalise(host), port_number(port, scheme), path, query, credentials(userinfo))
      end

      # Resolves a caller's url: an absolute URL, or a path below base. The path of base counts as a folder
      # ("https://api.test/v1" and "users" make /v1/users); "/users" starts from the host's root.
      #
      # @param location [String, URI, Addressable::URI, URL, nil] nil and "" are the base itself
      # @param base [URL, nil]
      # @return [URL]
      # @raise [InvalidRequest] for an invalid URL, without a base for a path, and for a path that begins with "//"
      def resolve(location, base)
        return parse(location) if base.nil? || location.is_a?(URL)
        return base if location.nil? || location == ""

        text = checked(location)
        return parse(text) if HIERARCHICAL.match?(text)
        return base.below(text) unless text.start_with?("//")

        raise InvalidRequest.of("url", redact(text), "an absolute URL, or a path with one leading /")
      end

      # @return [Boolean] whether the value is a URI of the standard library or of Addressable
      # @api private
      def uri?(value)
        value.is_a?(URI::Generic) || (defined?(::Addressable::URI) && value.is_a?(::Addressable::URI)) || false
      end

      # @return [String] for messages: userinfo, query and fragment hidden; text need not be a valid URL
      # @api private
      def redact(text)
        text.sub(%r{\A([^/?#@]*//)?.*@}m) { "#{Regexp.last_match(1)}[hidden]@" }
          .sub(%r{\A([^/?#]*//[^/?#:]+:)(?!\d*(?:[/?#]|\z))[^/?#]*}m, "\\1[hidden]") # not a port: may be a password
          .sub(/([?#]).*/m, "\\1[hidden]")
      end

      # @return [InvalidRequest]
      # @api private
      def refusal(text)
        InvalidRequest.of("url", redact(text), ALLOWED)
      end

      # @return [String] valid UTF-8 or ASCII without control characters
      # @api private
      def checked(location)
        text = location.is_a?(String) ? location : stringified(location)
        return text if text.ascii_only? && !CONTROL.match?(text)

        text = text.encoding == Encoding::BINARY ? decoded(text) : text.encode(Encoding::UTF_8)
        unless text.valid_encoding? && !CONTROL.match?(text.b)
          raise InvalidRequest.of("url", redact(text.scrub), "free of control characters and of broken UTF-8")
        end

        text
      rescue EncodingError
        raise InvalidRequest.of("url", redact(location.b), "in an encoding that UTF-8 can hold")
      end

      private

      # The value of a Location field is BINARY. As in browsers, valid UTF-8 is read as UTF-8; other bytes are
      # percent-encoded.
      def decoded(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : bytes
      end

      def stringified(location)
        return location.to_s if location.is_a?(URL) || uri?(location)

        raise InvalidRequest.of("url", location, "a String or URI")
      end

      def port_number(text, scheme)
        return PORTS.fetch(scheme) if text.nil? || text.empty?

        number = text.match?(/\A\d{1,5}\z/) ? text.to_i : 0
        return number if number.between?(1, 65_535)

        # A port that is not a number is not shown: in "http://user:pass/word@host/" it is part of a password.
        shown = text.match?(/\A\d*\z/) ? text.to_i : :hidden
        raise InvalidRequest.of("url: port", shown, "a number from 1 to 65535")
      end

      def credentials(userinfo)
        return if userinfo.nil? || userinfo.empty?

        Percent.userinfo(userinfo) or
          raise InvalidRequest, "url: userinfo must be percent-encoded (what it was is not shown)"
      end
    end

    def initialize(scheme, host, port, path, query, userinfo = nil)
      @scheme = scheme
      @host = host
      @port = port
      @path = path.empty? ? "/" : Percent.clean(path)
      @query = query && Percent.clean(query)
      @userinfo = userinfo
      bracketed = Host.bracketed(host)
      @label = "#{bracketed}:#{port}".freeze
      @authority = port == PORTS[scheme] ? bracketed : @label
      @origin = "#{scheme}://#{@authority}".freeze
      freeze
    end

    # @return [Boolean]
    def tls? = scheme == "https"

    # @return [String] path and query: the request target (RFC 9112 3.2.1)
    def target
      query ? "#{path}?#{query}" : path
    end

    # @return [String] without userinfo and fragment
    def to_s
      "#{origin}#{target}"
    end

    # @return [URL] the path "/" at the same origin
    # @api private
    def root = at_target("/")

    # @param target [String] as it is sent: path and query, or "*"
    # @return [URL] that target at the same origin
    # @api private
    def at_target(target)
      path, query = target.split("?", 2)
      URL.new(scheme, host, port, path, query)
    end

    # @return [URL] this URL with text as a path below it (see URL.resolve)
    # @api private
    def below(text)
      path, query = RELATIVE.match(text).captures
      unless path.start_with?("/")
        folder = self.path.end_with?("/") ? self.path : "#{self.path}/"
        path = path.empty? ? self.path : "#{folder}#{path}"
      end
      URL.new(scheme, host, port, URL.without_dots(path), query, userinfo)
    end

    # @param reference [String] a Location field's value, resolved as RFC 3986 5.2.2 says
    # @return [URL] without userinfo, because a response must not set credentials
    # @raise [InvalidRequest] when it is not an http or https URL
    def follow(reference)
      text = URL.checked(reference)
      return URL.parse(text).without_userinfo if SCHEME.match?(text)
      return URL.parse("#{scheme}:#{text}").without_userinfo if text.start_with?("//")

      path, query = RELATIVE.match(text).captures
      if path.empty?
        path = self.path
        query ||= self.query
      elsif !path.start_with?("/")
        path = self.path[%r{\A.*/}m] + path
      end
      URL.new(scheme, host, port, URL.without_dots(path), query)
    end

    # @return [URL]
    def without_userinfo
      userinfo ? URL.new(scheme, host, port, path, query) : self
    end

    def ==(other)
      other.is_a?(URL) && to_s == other.to_s
    end
    alias eql? ==

    def hash = to_s.hash

    # @return [String] for messages and logs, with the query hidden
    def shown
      query ? "#{origin}#{path}?[hidden]" : to_s
    end

    def inspect
      "#<#{self.class} #{shown}>"
    end

    # @return [String] #to_s, as the json gem writes it
    def as_json(*) = to_s

    # Marshal and YAML write the URL as #inspect shows it. To store the complete URL, store #to_s.
    # @return [Array]
    def marshal_dump = [scheme, host, port, path, query && HIDDEN]

    def marshal_load(parts)
      initialize(*parts)
    end

    # Removes "." and ".." segments (RFC 3986 5.2.4).
    # @return [String]
    # @api private
    def self.without_dots(path)
      return path unless path.include?("/.")

      kept = []
      segments = path.split("/", -1).drop(1)
      segments.each do |segment|
        kept.pop if segment == ".."
        kept << segment unless [".", ".."].include?(segment)
      end
      kept << "" if [".", ".."].include?(segments.last)
      "/#{kept.join("/")}"
    end
  end
end
