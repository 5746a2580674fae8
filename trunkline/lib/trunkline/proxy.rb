# frozen_string_literal: true

require_relative "errors"
require_relative "host"
require_relative "percent"
require_relative "redacted"

module Trunkline
  # A proxy, as proxy: and the environment name it: scheme://[user:password@]host[:port]. The scheme says how it is
  # spoken to: http, https (TLS to the proxy itself), socks5 (names are resolved here) or socks5h (by the proxy).
  # Credentials are percent-decoded, and are in no text made of it.
  class Proxy
    include Redacted

    KINDS = { "http" => :http, "https" => :http, "socks5" => :socks5, "socks5h" => :socks5h }.freeze
    PORTS = { "http" => 80, "https" => 443, "socks5" => 1080, "socks5h" => 1080 }.freeze
    PATTERN = %r{\A([a-z][a-z0-9+.-]*)://(?:([^@/?#]*)@)?(\[[^\]/?#]*\]|[^:/?#@\[\]]+)(?::(\d{1,5}))?/?\z}i
    CONTROL = /[\x00-\x1f\x7f]/n
    # What can be shown of a text that names no proxy: it has no room for a password.
    SHOWN = %r{\A(?:[a-z][a-z0-9+.-]*://)?[\w.-]*(?::\d*)?(?:/[\w./-]*)?\z}i
    private_constant :SHOWN
    ALLOWED = "a URL such as http://proxy.test:3128 (http, https, socks5 or socks5h, perhaps with user:password@, " \
              "no path), host:port for http, or false for none"
    REFUSAL_BYTES = 16 * 1024
    # One byte says how long each of them is (RFC 1929 2).
    SOCKS_BYTES = 1..255

    # @return [String] "http", "https", "socks5" or "socks5h"
    attr_reader :scheme
    # @return [String] without brackets
    attr_reader :host
    # @return [Integer]
    attr_reader :port
    # @return [Array(String, String), nil] user and password
    attr_reader :credentials

    class << self
      # @param text [String, URI]
      # @param source [String] whose value it is: an option's or a variable's name
      # @return [Proxy]
      # @raise [InvalidRequest]
      def parse(text, source = "proxy")
        text = text.to_s
        scheme, userinfo, host, port = PATTERN.match(text)&.captures
        scheme = scheme&.downcase
        raise refusal(source, text) unless KINDS.key?(scheme) && (port.nil? || port.to_i.between?(1, 65_535))

        new(scheme, Host.normalise(host), port&.to_i || PORTS.fetch(scheme), credentials(source, scheme, userinfo))
      rescue InvalidRequest => error
        raise error.message.start_with?("#{source}:") ? error : refusal(source, text)
      end

      # @param proxy [Proxy] that was sent the request itself
      # @param response [Response] its refusal
      # @return [ProxyError]
      def refused(proxy, response)
        Engine.failure(:ProxyError, {
                         code: :PROXY_REFUSED, words: "the proxy refused",
                         detail: "proxy #{proxy.label}: #{response.status} #{response.reason}".rstrip,
                         status: response.status, fields: response.headers.to_a, body: beginning(response),
                         request: response.request, phase: :read, sent: :all, label: response.request.uri.label,
                         elapsed: response.timings.total, attempt: response.attempts.size,
                         attempts: response.attempts, connection_age: response.connection.age
                       })
      end

      # @return [InvalidRequest]
      # @api private
      def refusal(source, text)
        got = SHOWN.match?(text.b) ? ", got #{text.inspect}" : "; what was given is not shown"
        InvalidRequest.new("#{source}: must be #{ALLOWED}#{got}")
      end

      private

      def beginning(response)
        bytes = "".b
        while bytes.bytesize < REFUSAL_BYTES && (chunk = response.read)
          bytes << chunk
        end
        bytes.byteslice(0, REFUSAL_BYTES)
      ensure
        response.close
      end

      def credentials(source, scheme, userinfo)
        return if userinfo.nil? || userinfo.empty?

        user, password = Percent.userinfo(userinfo)
        if user.nil? || CONTROL.match?(user.b) || CONTROL.match?(password.b)
          raise InvalidRequest, "#{source}: user and password must be percent-encoded and free of control characters " \
                                "(what was given is not shown)"
        end
        check_socks(source, user, password) if scheme.start_with?("socks")
        [user, password].freeze
      end

      def check_socks(source, user, password)
        return if SOCKS_BYTES.cover?(user.bytesize) && SOCKS_BYTES.cover?(password.bytesize)

        raise InvalidRequest, "#{source}: SOCKS takes a user and a password of 1 to 255 bytes each (RFC 1929); these " \
                              "have #{user.bytesize} and #{password.bytesize}"
      end
    end

    def initialize(scheme, host, port, credentials = nil)
      @scheme = scheme
      @host = host
      @port = port
      @credentials = credentials
      @through = [true, false].to_h { |tunnel| [tunnel, facts(tunnel)] }.freeze
      freeze
    end

    # @return [String] "proxy.test:3128", for messages
    def label
      "#{Host.bracketed(host)}:#{port}"
    end

    # Is a plain http request sent to the proxy itself, in absolute-form (RFC 9112 3.2.2)?
    # @return [Boolean]
    def forwards? = KINDS.fetch(scheme) == :http

    # @param tunnel [Boolean] whether a way to the server is asked for, or the request is sent to the proxy itself
    # @return [Hash{Symbol => Object}] for the engine
    def through(tunnel)
      @through.fetch(tunnel)
    end

    # @return [String] without credentials
    def to_s
      "#{scheme}://#{label}"
    end

    def inspect
      "#<#{self.class} #{scheme}://#{"[hidden]@" if @credentials}#{label}>"
    end

    def ==(other)
      other.is_a?(Proxy) && through(true) == other.through(true)
    end
    alias eql? ==

    def hash = through(true).hash

    private

    def facts(tunnel)
      http = forwards?
      user, password = @credentials
      {
        kind: KINDS.fetch(scheme), tunnel: tunnel, host: host, port: port, label: label.freeze,
        tls_name: (host if scheme == "https"), user: (user unless http), password: (password unless http),
        authorization: ("Basic #{["#{user}:#{password}"].pack("m0")}".freeze if http && user)
      }.freeze
    end
  end
end
