# frozen_string_literal: true

require "ipaddr"
require "rbconfig"
require_relative "../attempt_values"
require_relative "../errors"
require_relative "../headers"
require_relative "../host"
require_relative "../netrc"
require_relative "../policy/auth/digest"
require_relative "../params"
require_relative "../proxy"
require_relative "../timeouts"
require_relative "../url"
require_relative "../warns"
require_relative "client_certificate"
require_relative "egress"

module Trunkline
  class Options
    # The checks of option values. Each takes the option's name and the caller's value (not nil, where the table of
    # options allows nil), and returns the value as the library uses it, or raises InvalidRequest that names the option,
    # the value and what is allowed. Values that are credentials are never shown.
    #
    # @api private
    module Checks
      HTTP_MODES = %i[auto h1 h2].freeze
      HTTP2_NEEDS = if ENGINE == :c
                      "the gem to be built with nghttp2 (Debian: libnghttp2-dev); it was not"
                    else
                      "the gem http-2 (1.1 or newer) with the engine in Ruby; add it to the Gemfile"
                    end
      TLS_VERSIONS = { "1.2" => 0x0303, "1.3" => 0x0304 }.freeze
      # sun_path of sockaddr_un holds 108 bytes on Linux, 104 on macOS and the BSDs; the last one is NUL.
      UNIX_PATH_BYTES = RbConfig::CONFIG["host_os"].match?(/darwin|bsd|dragonfly/) ? 103 : 107
      # A cipher list (ciphers(1) of OpenSSL): names of ciphers and of groups of them, with operators.
      CIPHERS = [/\A[A-Za-z0-9_!@+\-=.,: ]+\z/, 'a list in the format of OpenSSL, such as "ECDHE+AESGCM:!SHA1"'].freeze
      CIPHERSUITES = [/\ATLS_[A-Z0-9_]+(?::TLS_[A-Z0-9_]+)*\z/,
                      'names of TLS 1.3 (RFC 8446 B.4) joined by ":", such as "TLS_AES_128_GCM_SHA256"'].freeze
      # One line that begins like a path, or ends in a file extension. Base64 text, such as a key, does neither.
      PATH = %r{\A(?:[/.~][^\n]*|[^\n]*\.\w{1,8})\z}
      # curl's values: bytes, and seconds.
      EXPECT = { above: 1_048_576, wait: 1 }.freeze
      # Seconds. With the kernel's nine probes, a peer that vanishes is noticed after about two minutes of silence.
      KEEPALIVE = { idle: 30, interval: 10 }.freeze
      NO_KEEPALIVE = { idle: 0, interval: 0 }.freeze
      KEEPALIVE_SECONDS = ->(value) { value.is_a?(Integer) && value.between?(1, 32_767) }
      # IFNAMSIZ is 16, including the NUL.
      INTERFACE = %r{\A[[:graph:]&&[^/:]]{1,15}\z}
      # The limit for follow: true. Browsers stop at 20, clients of APIs at 3 to 10.
      REDIRECTS = 10
      # Seconds: about the time a thread needs to go to sleep and to be woken up. Polling for longer gains little.
      BUSY_POLL = 0.00006
      LONGEST_BUSY_POLL = 0.001
      private_constant :PATH, :NO_KEEPALIVE, :KEEPALIVE_SECONDS, :INTERFACE

      module_function

      def boolean(name, value)
        one_of(name, value, [true, false])
      end

      def one_of(name, value, values)
        values.include?(value) ? value : refuse(name, value, values.map(&:inspect).join(" or "))
      end

      def integer(name, value, range)
        return value if value.is_a?(Integer) && range.cover?(value)

        refuse(name, value, "an Integer from #{range.min} to #{range.max}")
      end

      def seconds(name, value)
        Timeouts.seconds(name, value)
      end

      def path(name, value)
        value = value.to_path if value.respond_to?(:to_path)
        refuse(name, value, "a path") unless value.is_a?(String) && !value.empty? && !value.include?("\0")

        value.dup.freeze
      end

      # @param kind [String] "file" or "directory"
      def readable(name, value, kind)
        value = path(name, value)
        fits = kind == "file" ? File.file?(value) : File.directory?(value)
        fits && File.readable?(value) ? value : refuse(name, value, "a readable #{kind}")
      end

      def client_cert(name, value)
        ClientCertificate.certificate(name, value)
      end

      def client_key(name, value)
        ClientCertificate.key(name, value)
      end

      def client_key_password(name, value)
        ClientCertificate.password(name, value)
      end

      # @param allowed [String] the allowed values, for the error
      # @return [String] the path of a file that can be read
      def readable_pem(name, value, allowed)
        refuse_contents(name, value)
        refuse(name, value, allowed) unless value.is_a?(String) || value.respond_to?(:to_path)
        readable(name, value, "file")
      end

      # @param policy [Symbol] name of the class in Policy that the option creates
      # @return [Object, nil] nil for false and nil
      def policy(_name, value, policy)
        Policy.const_get(policy).of(value) if value
      end

      # @return [Symbol, nil]
      def policies(name, value)
        one_of(name, value, [:standard]) if value
      end

      def use(name, value)
        return [].freeze unless value

        list = value.is_a?(Array) ? value : [value]
        list.map { |one| Policy::Middleware.of(name, one) }.freeze
      end

      def template(name, value)
        return value.dup.freeze if value.is_a?(String) && !value.empty? && value.length <= 256

        refuse(name, value, "a String of at most 256 characters")
      end

      def field_name(name, value)
        Headers.field_name(value, name.to_s) if value
      end

      # @return [Deprecations, false]
      def deprecations(_name, value)
        Deprecations.of(value) || false
      end

      def headers(_name, value)
        Headers.pairs(AttemptValues.headers_with_placeholders(value))
      end

      def field_names(name, value)
        refuse(name, value, "an Array of field names") unless value.is_a?(Array)

        value.map { |field| Headers.field_name(field, name.to_s).downcase }.freeze
      end

      def logger(name, value)
        return value if value.respond_to?(:info) || Warns.by?(value)

        refuse(name, value, "an object with #info or #warn, or nil")
      end

      # @return [Symbol, false, nil]
      def log(name, value)
        value ? one_of(name, value, CallLog::LEVELS) : value
      end

      # @return [Array<String>] names
      def redact(name, value)
        value.is_a?(Array) && value.all? { |one| (one.is_a?(String) || one.is_a?(Symbol)) && !one.empty? } or
          refuse(name, value, "an Array of names")

        value.map { |one| one.to_s.dup.freeze }.freeze
      end

      # @return [Hash, Array] a name that a Hash has both as Symbol and as String occurs once in the result, so that a
      #   call's value replaces it
      def params(name, value)
        value = Params.plain(name, value)
        return value if value.is_a?(Array)

        value.is_a?(Hash) ? Params.distinct(value) : refuse(name, value, "a Hash or pairs")
      end

      def bearer(name, value)
        return value.dup.freeze if value.is_a?(String) && value.match?(/\A[\x21-\x7e]+\z/)
        return AttemptValues.placeholder_for(value) if AttemptValues.callable?(value)

        raise InvalidRequest, "#{name}: must be a String of visible ASCII characters (RFC 6750); " \
                              "what was given is not shown"
      end

      def basic(name, value)
        return [AttemptValues.placeholder_for(value), ""].freeze if AttemptValues.callable?(value)

        if value.is_a?(Array) && value.size == 2 && value.all?(String) && !value.first.include?(":") &&
           value.none? { |text| text.b.match?(/[\x00-\x1f\x7f]/n) }
          return value.map { |text| text.dup.freeze }.freeze
        end

        raise InvalidRequest, "#{name}: must be [user, password], two Strings without control characters, no colon " \
                              "in the user (RFC 7617); what was given is not shown"
      end

      def digest(name, value)
        return value if value.is_a?(Policy::Auth::Digest)
        return Policy::Auth::Digest.new(*value) if value.is_a?(Array) && value.size == 2 && value.all?(String)

        raise InvalidRequest, "#{name}: must be [user, password], two Strings (RFC 7616); what was given is not shown"
      end

      def auth(name, value)
        return value if value.respond_to?(:sign) && value.respond_to?(:retry?)

        hint = "; a user and a password are basic: [user, password]" if value.is_a?(Array) || value.is_a?(Hash)
        hint = "; a token is bearer: token" if value.is_a?(String)
        raise InvalidRequest, "#{name}: must be an object with #sign(request) and #retry?(response), got " \
                              "#{value.class}#{hint}"
      end

      def netrc(name, value)
        case value
        when nil, Netrc then value
        when false then nil
        when true then Netrc.load(true)
        else
          refuse_contents(name, value)
          Netrc.load(path(name, value))
        end
      end

      def follow(name, value)
        case value
        when nil, false then false
        when true then REDIRECTS
        when 1..1000 then integer(name, value, 1..1000)
        else refuse(name, value, "an Integer from 1 to 1000, true for #{REDIRECTS}, or false")
        end
      end

      # @return [Hash, false] { wait: seconds, above: bytes }
      def expect(name, value)
        return false unless value
        return { wait: Timeouts.seconds(name, value), above: 0 }.freeze unless value.is_a?(Hash)

        unknown = value.keys - EXPECT.keys
        refuse(name, value, "seconds, or a Hash of above: (bytes) and wait: (seconds)") unless unknown.empty?
        merged = EXPECT.merge(value)
        { wait: Timeouts.seconds("#{name}: wait", merged[:wait]),
          above: integer("#{name}: above", merged[:above], 0..(1 << 62)) }.freeze
      end

      def callable(name, value)
        return value if value.respond_to?(:call)

        example = ", such as #{value}.method(:generate)" if value.is_a?(Module)
        refuse(name, value, "callable#{example}, or nil")
      end

      def progress(name, value)
        return value if value.nil? || [true, false].include?(value) || value.respond_to?(:call)

        refuse(name, value, "true, false, or callable")
      end

      def ca_store(name, value)
        return value if defined?(OpenSSL::X509::Store) && value.is_a?(OpenSSL::X509::Store)

        refuse(name, value, "an OpenSSL::X509::Store")
      end

      def http(name, value)
        refuse(name, value, HTTP_MODES.map(&:inspect).join(", ")) unless HTTP_MODES.include?(value)
        return value unless value == :h2 && !Engine::HTTP2

        raise InvalidRequest, "#{name}: :h2 needs #{HTTP2_NEEDS}"
      end

      def tls_version(name, value)
        TLS_VERSIONS.fetch(one_of(name, value, TLS_VERSIONS.keys))
      end

      # @param format [Array(Regexp, String)] the format, and its description
      def text(name, value, format)
        return value.dup.freeze if value.is_a?(String) && format.first.match?(value)

        refuse(name, value, format.last)
      end

      def tls_name(name, value)
        Host.normalise(Host.bracketed(value.is_a?(String) ? value : raise(InvalidRequest))).freeze
      rescue InvalidRequest
        refuse(name, value, "a host name or an IP address, without a port")
      end

      def connect_to(name, value)
        case value
        when String then address(name, value)
        when Hash
          value.to_h do |from, to|
            refuse(name, from, 'a Hash of "host:port" to "host:port"') unless from.is_a?(String)
            [from.downcase.freeze, address(name, to)]
          end.freeze
        else refuse(name, value, '"host:port", or a Hash of "host:port" to "host:port"')
        end
      end

      def unix(name, value)
        value = path(name, value)
        value.bytesize <= UNIX_PATH_BYTES ? value : refuse(name, value, "a path of at most #{UNIX_PATH_BYTES} bytes")
      end

      def proxy(name, value)
        case value
        when false, Proxy then value
        when String then proxy_of_text(name, value)
        when ->(any) { URL.uri?(any) } then Proxy.parse(value)
        else refuse(name, value, Proxy::ALLOWED)
        end
      end

      # @param text [String] a URL, or host:port; a host without a port is refused, because any word could be a host
      def proxy_of_text(name, text)
        return Proxy.parse(text) if text.include?("://")

        text.match?(/[:@]/n) ? Proxy.parse("http://#{text}") : raise(Proxy.refusal(name.to_s, text))
      end

      # @return [String] a comma-separated list
      def no_proxy(name, value)
        list = value.is_a?(Array) ? value : [value]
        texts = list.all? { |one| one.is_a?(String) && one.valid_encoding? && one.encoding.ascii_compatible? }
        return list.join(",").freeze if texts

        refuse(name, value, "a list such as \"api.test, 10.0.0.0/8\", or an Array of its entries")
      end

      # @return [Hash, nil] see Egress
      def egress(_name, value)
        Egress.of(value) unless value.nil?
      end

      # @param value [String] an address of this machine ("192.0.2.7", "::1") or an interface ("eth1")
      # @return [Hash] { address: } or { interface: }
      def bind(name, value)
        if value.is_a?(String)
          return { address: value.dup.freeze }.freeze if address_without_mask?(value)
          return { interface: value.dup.freeze }.freeze if INTERFACE.match?(value) && value.match?(/[A-Za-z]/)
        end

        refuse(name, value, "an IP address or the name of an interface")
      end

      # @param value [Boolean, Integer, Hash, nil] seconds of silence before the first probe, or { idle:, interval: }
      # @return [Hash] { idle:, interval: }; zeros for none
      def tcp_keepalive(name, value)
        probes = case value = whole_seconds(value)
                 when nil, true then return KEEPALIVE
                 when false then return NO_KEEPALIVE
                 when Integer then KEEPALIVE.merge(idle: value)
                 when Hash then KEEPALIVE.merge(value.transform_values { |one| whole_seconds(one) })
                 end
        return probes.freeze if probes && probes.size == KEEPALIVE.size && probes.each_value.all?(KEEPALIVE_SECONDS)

        refuse(name, value, "true, false, or whole seconds from 1 to 32767: 30, or { idle: 30, interval: 10 }")
      end

      # @return [Integer] milliseconds; 0 for the system's own limit
      def tcp_user_timeout(name, value)
        seconds = Timeouts.seconds_or_nil(name, value)
        seconds ? [seconds * 1000, (1 << 31) - 1].min.ceil : 0
      end

      def max_age(name, value)
        Timeouts.seconds(name, value)
      rescue InvalidRequest
        refuse(name, value, "a positive number of seconds, or nil for no limit")
      end

      # @return [Float] seconds; 0 for none
      def busy_poll(name, value)
        case value = Timeouts.plain(value)
        when nil, false then return 0.0
        when true then return BUSY_POLL
        when Integer, Float, Rational then return value.to_f if (0..LONGEST_BUSY_POLL).cover?(value)
        end

        refuse(name, value, "true, false, or seconds from 0 to #{LONGEST_BUSY_POLL}")
      end

      def refuse(name, value, allowed)
        raise InvalidRequest.of(name, value, allowed)
      end

      # An error shows the path of a missing file, but never a file's contents that were given in place of a path.
      def refuse_contents(name, value)
        return if !value.is_a?(String) || PATH.match?(value.b) || (!value.b.include?("\0") && File.file?(value))

        raise InvalidRequest, "#{name}: must be a path of a file, not its contents; what was given is not shown"
      end

      # @return [Array(String, Integer or nil)] host without brackets, and port
      def address(name, value)
        match = value.is_a?(String) && %r{\A(\[[^\]/]+\]|[^:/\[\]@]+)(?::(\d{1,5}))?\z}.match(value)
        refuse(name, value, '"host" or "host:port"') unless match

        port = match[2]&.to_i
        refuse(name, value, "with a port from 1 to 65535") unless port.nil? || port.between?(1, 65_535)

        [Host.normalise(match[1], name.to_s).freeze, port].freeze
      end

      def whole_seconds(value)
        seconds = Timeouts.plain(value)
        seconds.is_a?(Float) && !value.is_a?(Float) && seconds == seconds.floor ? seconds.to_i : value
      end

      def address_without_mask?(text)
        IPAddr.new(text)
        !text.include?("/")
      rescue IPAddr::Error
        false
      end

      private_class_method :proxy_of_text, :refuse, :refuse_contents, :address, :whole_seconds, :address_without_mask?
    end
  end
end
