# frozen_string_literal: true

require_relative "../client"
require_relative "../memo"
require_relative "../pem_file"
require_relative "../redacted"
require_relative "../ssl_words"
require_relative "../x509_stores"

module Trunkline
  module NetHTTP
    # What is set on a Net::HTTP object, in Trunkline's words.
    #
    # @api private
    module Settings
      # What makes Net::HTTP close an idle connection when nothing else was said. Ours are looked at before each use,
      # so there they may live as long as any other.
      DEFAULT_KEEP_ALIVE = 2
      # Net::HTTP opens as many connections as are asked for, and takes any number of fields and any body.
      NO_LIMIT = 65_536
      HEADER_BYTES = 1024 * 1024
      LIMITS = { max_connections_per_host: NO_LIMIT, max_header_bytes: HEADER_BYTES, max_headers: NO_LIMIT,
                 max_body_bytes: nil, max_decode_ratio: nil }.freeze
      # Zero means "at once" there, and nothing here.
      SHORTEST = 0.001

      TLS_1_2 = 0x0303

      ADDRESS = /\A[\d.]+\z|:/

      # What cannot be carried, and when that is so.
      OBSTACLES = {
        "set_debug_output" => ->(http) { http.instance_variable_get(:@debug_output) },
        "a proxy together with ipaddr" => ->(http) { http.proxy? && http.instance_variable_get(:@ipaddr) },
        "a proxy over TLS" => ->(http) { http.proxy? && http.instance_variable_get(:@proxy_use_ssl) },
        "local_host, which is no address" => ->(http) { http.local_host && !ADDRESS.match?(http.local_host) },
        "local_port" => :local_port.to_proc
      }.freeze
      TLS_OBSTACLES = {
        "verify_callback" => :verify_callback.to_proc,
        "a version of TLS before 1.2" => ->(http) { old_tls?(http) },
        "cert_store together with ca_file or ca_path" => ->(http) { !X509Stores.readable?(http) }
      }.freeze

      KNOWN = 256
      private_constant :KNOWN

      # A client, and the plans of requests that it has carried already.
      Lane = Struct.new(:client, :plans) { include Redacted }

      @lanes = {}

      class << self
        # @param http [Net::HTTP]
        # @return [String, nil] why http cannot be carried
        def obstacle(http)
          found = OBSTACLES.find { |_, present| present.call(http) }
          found ||= TLS_OBSTACLES.find { |_, present| present.call(http) } if http.use_ssl?
          found&.first
        end

        # @return [URL] the server, as http names it
        # @raise [InvalidRequest]
        def url(http)
          host = http.address.to_s
          host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
          URL.new(http.use_ssl? ? "https" : "http", Host.normalise(host), Integer(http.port), "/", nil)
        end

        # @param target [String] of a request line; in another form than a path it stands below "/" in messages
        # @return [URL]
        def below(url, target)
          path, query = target.split("?", 2)
          URL.new(url.scheme, url.host, url.port, path.start_with?("/") ? path : "/#{path}", query)
        end

        # @return [Hash{Symbol => Object}] options of a client
        # @raise [InvalidRequest]
        def options(http)
          options = { timeout: timeouts(http), idle_timeout: idle_timeout(http), proxy: proxy(http), http: :h1 }
          options[:connect_to] = connect_to(http) if http.instance_variable_get(:@ipaddr)
          options[:bind] = http.local_host if http.local_host
          options.merge!(tls(http)) if http.use_ssl?
          options
        end

        # One for each set of options, over the connections of the process.
        # @return [Lane]
        def lane(options)
          @lanes[options] || Memo.keep(@lanes, KNOWN, options.freeze, Lane.new(make(options), {}))
        end

        # @return [nil]
        def close_idle
          @family&.pool&.close_idle(@family.owner)
          nil
        end

        # @return [Float, nil] nil for no limit
        def seconds(value)
          value && [Float(value), SHORTEST].max
        end

        # @return [Boolean] also when there is no such version: Net::HTTP says so in its own way
        def old_tls?(http)
          [http.ssl_version, http.min_version, http.max_version].any? do |version|
            (SSLWords.version("version", version) || TLS_1_2) < TLS_1_2
          end
        rescue InvalidRequest
          true
        end

        private

        # What was configured for Trunkline's own calls is not meant for Net::HTTP's.
        def make(options)
          @family ||= Family.make
          Client.new(nil, Options.defaults.merge(LIMITS.merge(options)), @family)
        end

        # nil means there that it waits for ever.
        def timeouts(http)
          opening = seconds(http.open_timeout)
          reading = seconds(http.read_timeout)
          { queue: nil, resolve: opening, connect: opening, tls: opening, write: seconds(http.write_timeout),
            first_byte: reading, read: reading }.transform_values { |limit| limit || Timeouts::ENDLESS }
        end

        def idle_timeout(http)
          given = http.keep_alive_timeout
          given == DEFAULT_KEEP_ALIVE ? Options::DEFAULTS[:idle_timeout] : seconds(given) || NO_LIMIT
        end

        # Where the proxy is sent the request itself, Net::HTTP has put the credentials into it.
        # @return [String, false]
        def proxy(http)
          return false unless http.proxy?

          host = http.proxy_address
          host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
          user = [http.proxy_user, http.proxy_pass].map { |text| Percent.userinfo(text.to_s) }.join(":")
          "http://#{"#{user}@" if http.proxy_user && http.use_ssl?}#{host}:#{http.proxy_port || 80}"
        end

        def connect_to(http)
          address = http.instance_variable_get(:@ipaddr)
          address.include?(":") ? "[#{address}]" : address
        end

        def tls(http)
          verify = http.verify_mode != OpenSSL::SSL::VERIFY_NONE
          options = { verify: verify, verify_hostname: http.verify_hostname != false, verify_depth: http.verify_depth }
          options.merge!(SSLWords.versions(version: http.ssl_version, min_version: http.min_version,
                                           max_version: http.max_version))
          options.merge!(X509Stores.options(http)) if verify
          options[:ciphers] = SSLWords.ciphers(http.ciphers) if http.ciphers
          if http.cert
            options[:client_cert] = PemFile.path([http.cert, *http.extra_chain_cert])
            options[:client_key] = PemFile.path(private_text(http.key)) if http.key
          end
          options
        end

        def private_text(key)
          raise InvalidRequest, "a key that is no OpenSSL::PKey" unless key.respond_to?(:to_pem)

          key.respond_to?(:private_to_pem) ? key.private_to_pem : key.to_pem
        rescue OpenSSL::PKey::PKeyError => error
          raise InvalidRequest, "a key that cannot be read (#{error.message})"
        end
      end
    end
  end
end
