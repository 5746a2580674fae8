# frozen_string_literal: true

require_relative "errors"
require_relative "host"
require_relative "percent"
require_relative "redacted"

module Trunkline
  # A proxy, as given by proxy: and by the environment: scheme://[user:password@]host[:port]. The scheme is the protocol
  # of the proxy: http, https (TLS to the proxy itself), socks5 (the client resolves names) or socks5h (the proxy
  # resolves names). Credentials are percent-decoded, and #to_s and #inspect do not show them.
  class Proxy
    include Redacted

    KINDS = { "http" => :http, "https" => :http, "socks5" => :socks5, "socks5h" => :socks5h }.freeze
    PORTS = { "http" => 80, "https" => 443, "socks5" => 1080, "socks5h" => 1080 }.freeze
    PATTERN = %r{\A([a-z][a-z0-9+.-]*)://(?:([^@/?#]*)@)?(\[[^\]/?#]*\]|[^:/?#@\[\]]+)(?::(\d{1,5}))?/?\z}i
    CONTROL = /[\x00-\x1f\x7f]/n
    # An invalid proxy that may be quoted in a message: a text of this form cannot contain a password.
    SHOWN = %r{\A(?:[a-z][a-z0-9+.-]*://)?[\w.-]*(?::\d*)?(?:/[\w./-]*)?\z}i
    private_constant :SHOWN
    ALLOWED = "a URL such as http://proxy.test:3128 (http, https, socks5 or socks5h, perhaps with user:password@, " \
              "no path), host:port for http, or false for none"
    REFUSAL_BYTES = 16 * 1024
    # Bytes of a user and of a password: one byte holds the length of each (RFC 1929 2).
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
      # @param source [String] the name of the option or variable with this value, for the error message
      # @return [Proxy]
      # @raise [InvalidRequest] when the text is not a valid proxy
      def parse(text, source = "proxy")
        text = text.to_s
        scheme, userinfo, host, port = PATTERN.match(text)&.captures
        scheme = scheme&.downcase
        raise refusal(source, text) unless KINDS.key?(scheme) && (port.nil? || port.to_i.between?(1, 65_535))

        new(scheme, Host.normalise(host), port&.to_i || PORTS.fetch(scheme), credentials(source, scheme, userinfo))
      rescue InvalidRequest => error
        raise error.message.start_with?("#{source}:") ? error : refusal(source, text)
      end

      # @param proxy [Proxy] the proxy that the request was sent to
      # @param response [Response] the response of the proxy, which is read and closed
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

    # @return [Boolean] whether requests to http URLs are sent to the proxy itself, in absolute-form (RFC 9112 3.2.2)
    def forwards? = KINDS.fetch(scheme) == :http

    # @param tunnel [Boolean] true: the proxy opens a tunnel to the server; false: requests are sent to the proxy itself
    # @return [Hash{Symbol => Object}] the proxy's facts for the engine
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
