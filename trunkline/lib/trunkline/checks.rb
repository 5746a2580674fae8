# frozen_string_literal: true

require_relative "busy_poll"
require_relative "errors"
require_relative "headers"
require_relative "host"
require_relative "netrc"
require_relative "policy/auth/digest"
require_relative "proxy"
require_relative "socket_options"
require_relative "timeouts"

module Trunkline
  # One check per option: takes what the caller gave, returns what the library uses, or raises InvalidRequest naming
  # the option, the value and what is allowed. Values that are credentials are never shown.
  #
  # @api private
  module Checks
    HTTP_MODES = %i[auto h1 h2].freeze
    TLS_VERSIONS = { "1.2" => 0x0303, "1.3" => 0x0304 }.freeze
    # sun_path of sockaddr_un holds 108 bytes, the last one NUL.
    UNIX_PATH_BYTES = 107
    # A list of OpenSSL's (see ciphers(1)): names, and what stands for many or takes some away.
    CIPHER_LIST = /\A[A-Za-z0-9_!@+\-=.,: ]+\z/
    CIPHERSUITES = /\ATLS_[A-Z0-9_]+(?::TLS_[A-Z0-9_]+)*\z/
    # Begins as a path or ends as one, on one line; base64 does neither.
    PATH = %r{\A(?:[/.~][^\n]*|[^\n]*\.\w{1,8})\z}
    private_constant :CIPHER_LIST, :CIPHERSUITES, :PATH

    module_function

    def headers(value)
      Headers.pairs(value)
    end

    def params(value)
      value.nil? || value.is_a?(Hash) || value.is_a?(Array) ? value : refuse(:params, value, "a Hash or pairs")
    end

    def bearer(value)
      return if value.nil?
      return value.dup.freeze if value.is_a?(String) && value.match?(/\A[\x21-\x7e]+\z/)

      raise InvalidRequest, "bearer: must be a String of visible ASCII characters (RFC 6750); " \
                            "what was given is not shown"
    end

    def basic(value)
      return if value.nil?
      if value.is_a?(Array) && value.size == 2 && value.all?(String) && !value.first.include?(":") &&
         value.none? { |text| text.b.match?(/[\x00-\x1f\x7f]/n) }
        return value.map { |text| text.dup.freeze }.freeze
      end

      raise InvalidRequest, "basic: must be [user, password], two Strings without control characters, no colon in " \
                            "the user (RFC 7617); what was given is not shown"
    end

    def digest(value)
      return value if value.nil? || value.is_a?(Policy::Auth::Digest)
      return Policy::Auth::Digest.new(*value) if value.is_a?(Array) && value.size == 2 && value.all?(String)

      raise InvalidRequest, "digest: must be [user, password], two Strings (RFC 7616); what was given is not shown"
    end

    def auth(value)
      return value if value.nil? || (value.respond_to?(:sign) && value.respond_to?(:retry?))

      raise InvalidRequest, "auth: must be an object with #sign(request) and #retry?(response), got #{value.class}"
    end

    def netrc(value)
      case value
      when nil, Netrc then value
      when false then nil
      when true then Netrc.load(true)
      else
        refuse_contents(:netrc, value)
        Netrc.load(path(:netrc, value))
      end
    end

    def follow(value)
      return false if value.nil? || value == false

      integer(:follow, value, 1..1000)
    end

    def redirect_body_to_http(value)
      boolean(:redirect_body_to_http, value)
    end

    def credential_headers(value)
      refuse(:credential_headers, value, "an Array of field names") unless value.is_a?(Array)

      value.map { |name| Headers.field_name(name, "credential_headers").downcase }.freeze
    end

    def replay(value)
      %i[never safe].include?(value) ? value : refuse(:replay, value, ":never or :safe")
    end

    def expect(value)
      value.nil? || value == false ? false : Timeouts.seconds("expect", value)
    end

    def decode(value)
      boolean(:decode, value)
    end

    def verify(value)
      boolean(:verify, value)
    end

    def verify_hostname(value)
      boolean(:verify_hostname, value)
    end

    def early_hints(value)
      value.nil? || value.respond_to?(:call) ? value : refuse(:early_hints, value, "callable, or nil")
    end

    def ca_file(value)
      readable(:ca_file, value, "file")
    end

    def ca_path(value)
      readable(:ca_path, value, "directory")
    end

    def ca_store(value)
      return value if value.nil? || (defined?(OpenSSL::X509::Store) && value.is_a?(OpenSSL::X509::Store))

      refuse(:ca_store, value, "an OpenSSL::X509::Store")
    end

    def client_cert(value)
      refuse_contents(:client_cert, value)
      readable(:client_cert, value, "file")
    end

    def client_key(value)
      refuse_contents(:client_key, value)
      readable(:client_key, value, "file")
    end

    def keylog(value)
      value.nil? ? nil : path(:keylog, value)
    end

    def http(value)
      refuse(:http, value, HTTP_MODES.map(&:inspect).join(", ")) unless HTTP_MODES.include?(value)
      return value unless value == :h2 && !Engine::HTTP2

      raise InvalidRequest, "http: :h2 needs the gem to be built with nghttp2 (Debian: libnghttp2-dev); it was not"
    end

    def min_tls(value)
      TLS_VERSIONS[value] or refuse(:min_tls, value, TLS_VERSIONS.keys.map(&:inspect).join(" or "))
    end

    def max_tls(value)
      return if value.nil?

      TLS_VERSIONS[value] or refuse(:max_tls, value, "#{TLS_VERSIONS.keys.map(&:inspect).join(" or ")}, or nil")
    end

    def ciphers(value)
      return if value.nil?
      return value.dup.freeze if value.is_a?(String) && CIPHER_LIST.match?(value)

      refuse(:ciphers, value, 'a list in the format of OpenSSL, such as "ECDHE+AESGCM:!SHA1"')
    end

    def ciphersuites(value)
      return if value.nil?
      return value.dup.freeze if value.is_a?(String) && CIPHERSUITES.match?(value)

      refuse(:ciphersuites, value, 'names of TLS 1.3 (RFC 8446 B.4) joined by ":", such as "TLS_AES_128_GCM_SHA256"')
    end

    def verify_depth(value)
      value.nil? ? nil : integer(:verify_depth, value, 0..100)
    end

    def tls_name(value)
      return if value.nil?

      text = value.is_a?(String) ? value : raise(InvalidRequest)
      Host.normalise(text.include?(":") && !text.start_with?("[") ? "[#{text}]" : text).freeze
    rescue InvalidRequest
      refuse(:tls_name, value, "a host name or an IP address, without a port")
    end

    def connect_to(value)
      case value
      when nil then nil
      when String then address(value)
      when Hash
        value.to_h do |from, to|
          refuse(:connect_to, from, 'a Hash of "host:port" to "host:port"') unless from.is_a?(String)
          [from.downcase.freeze, address(to)]
        end.freeze
      else refuse(:connect_to, value, '"host:port", or a Hash of "host:port" to "host:port"')
      end
    end

    def unix(value)
      return if value.nil?

      value = path(:unix, value)
      value.bytesize <= UNIX_PATH_BYTES ? value : refuse(:unix, value, "a path of at most #{UNIX_PATH_BYTES} bytes")
    end

    def proxy(value)
      case value
      when nil, false, Proxy then value
      when String, URI::Generic then Proxy.parse(value)
      else refuse(:proxy, value, Proxy::ALLOWED)
      end
    end

    def no_proxy(value)
      return if value.nil?

      list = Array(value)
      return list.join(",").freeze if list.all?(String)

      refuse(:no_proxy, value, "a list such as \"api.test, 10.0.0.0/8\", or an Array of its entries")
    end

    def bind(value)
      SocketOptions.bind(value)
    end

    def tcp_keepalive(value)
      SocketOptions.keepalive(value)
    end

    def tcp_user_timeout(value)
      SocketOptions.user_timeout(value)
    end

    def idle_timeout(value)
      Timeouts.seconds("idle_timeout", value) || refuse(:idle_timeout, value, "a positive number of seconds")
    end

    def max_age(value)
      return if value.nil?

      Timeouts.seconds("max_age", value)
    rescue InvalidRequest
      refuse(:max_age, value, "a positive number of seconds, or nil for no limit")
    end

    def busy_poll(value)
      BusyPoll.seconds(value)
    end

    # Trunkline.configure's alone
    def max_connections(value)
      value && integer(:max_connections, value, 1..1_048_576)
    end

    # Trunkline.configure's alone; 16 streams at the least
    def max_buffered_bytes(value)
      value && integer(:max_buffered_bytes, value, 1_048_576..1_099_511_627_776)
    end

    def max_connections_per_host(value)
      integer(:max_connections_per_host, value, 1..65_536)
    end

    def max_idle(value)
      integer(:max_idle, value, 0..65_536)
    end

    def max_header_bytes(value)
      integer(:max_header_bytes, value, 256..(1 << 30))
    end

    def max_headers(value)
      integer(:max_headers, value, 1..65_536)
    end

    def max_body_bytes(value)
      value.nil? ? nil : integer(:max_body_bytes, value, 1..(1 << 62))
    end

    def max_decode_ratio(value)
      value.nil? ? nil : integer(:max_decode_ratio, value, 1..1_000_000)
    end

    def stream(value)
      boolean(:stream, value)
    end

    # Composed as they are sent: body.rb, query.rb and multipart.rb check them.
    def body(value)
      value
    end

    def json(value)
      value
    end

    def form(value)
      value
    end

    def multipart(value)
      value
    end

    def refuse(option, value, allowed)
      raise InvalidRequest.of(option, value, allowed)
    end

    def boolean(option, value)
      [true, false].include?(value) ? value : refuse(option, value, "true or false")
    end

    def integer(option, value, range)
      return value if value.is_a?(Integer) && range.cover?(value)

      refuse(option, value, "an Integer from #{range.min} to #{range.max}")
    end

    def path(option, value)
      value = value.to_path if value.respond_to?(:to_path)
      refuse(option, value, "a path") unless value.is_a?(String) && !value.empty? && !value.include?("\0")

      value.dup.freeze
    end

    # A path of a file that may not be there is shown, what such a file holds must not be.
    def refuse_contents(option, value)
      return if !value.is_a?(String) || PATH.match?(value.b) || (!value.b.include?("\0") && File.file?(value))

      raise InvalidRequest, "#{option}: must be a path of a file, not its contents; what was given is not shown"
    end

    def readable(option, value, kind)
      return if value.nil?

      value = path(option, value)
      fits = kind == "file" ? File.file?(value) : File.directory?(value)
      fits && File.readable?(value) ? value : refuse(option, value, "a readable #{kind}")
    end

    # @return [Array(String, Integer or nil)] host without brackets, and port
    def address(value)
      match = value.is_a?(String) && %r{\A(\[[^\]/]+\]|[^:/\[\]@]+)(?::(\d{1,5}))?\z}.match(value)
      refuse(:connect_to, value, '"host" or "host:port"') unless match

      port = match[2]&.to_i
      refuse(:connect_to, value, "with a port from 1 to 65535") unless port.nil? || port.between?(1, 65_535)

      [Host.normalise(match[1], "connect_to").freeze, port].freeze
    end

    private_class_method :refuse, :boolean, :integer, :path, :refuse_contents, :readable, :address
  end
end
