# frozen_string_literal: true

require_relative "../client"
require_relative "../memo"
require_relative "../pem_file"
require_relative "stores"

module Trunkline
  module NetHTTP
    # What is set on a Net::HTTP object, in Trunkline's words.
    #
    # @api private
    module Settings
      # What makes Net::HTTP close an idle connection when nothing else was said. Ours are looked at before each use,
      # so there they may live as long as any other.
      DEFAULT_KEEP_ALIVE = 2
      # Net::HTTP opens as many connections as are asked for, and takes any number of fields.
      NO_LIMIT = 65_536
      HEADER_BYTES = 1024 * 1024
      # Zero means "at once" there, and nothing here.
      SHORTEST = 0.001

      TLS_VERSIONS = { nil => "1.2", TLS1_2: "1.2", TLS1_3: "1.3", 0x0303 => "1.2", 0x0304 => "1.3" }.freeze
      ANY_VERSION = [nil, :TLS, :TLS_client, :SSLv23, :SSLv23_client].freeze
      NEWEST = [nil, :TLS1_3, 0x0304].freeze

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
        "verify_depth" => :verify_depth.to_proc,
        "ciphers" => :ciphers.to_proc,
        "ssl_version" => ->(http) { !ANY_VERSION.include?(http.ssl_version&.to_sym) },
        "min_version" => ->(http) { !TLS_VERSIONS.key?(version(http.min_version)) },
        "max_version" => ->(http) { !NEWEST.include?(version(http.max_version)) },
        "cert_store together with ca_file or ca_path" => ->(http) { !Stores.readable?(http) }
      }.freeze

      KNOWN = 256
      private_constant :KNOWN

      # A client, and the plans of requests that it has carried already.
      Lane = Struct.new(:client, :plans)

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
          options = { timeout: timeouts(http), idle_timeout: idle_timeout(http), proxy: proxy(http) }
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

        # @return [Symbol, Integer, nil]
        def version(value)
          value.is_a?(String) ? value.to_sym : value
        end

        private

        # What was configured for Trunkline's own calls is not meant for Net::HTTP's.
        def make(options)
          @family ||= Family.make
          limits = { max_connections_per_host: NO_LIMIT, max_header_bytes: HEADER_BYTES, max_headers: NO_LIMIT }
          Client.new(nil, Options.defaults.merge(limits.merge(options)), @family)
        end

        # Some limit must be given: the queue's, which is never met.
        def timeouts(http)
          opening = seconds(http.open_timeout)
          reading = seconds(http.read_timeout)
          { queue: NO_LIMIT, resolve: opening, connect: opening, tls: opening, write: seconds(http.write_timeout),
            first_byte: reading, read: reading }
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
          options = { verify: verify, verify_hostname: http.verify_hostname != false,
                      min_tls: TLS_VERSIONS.fetch(version(http.min_version)) }
          options.merge!(Stores.options(http)) if verify
          if http.cert
            options[:client_cert] = PemFile.path([http.cert, *http.extra_chain_cert])
            options[:client_key] = PemFile.path(private_text(http.key)) if http.key
          end
          options
        end

        def private_text(key)
          key.respond_to?(:private_to_pem) ? key.private_to_pem : key.to_pem
        rescue OpenSSL::PKey::PKeyError => error
          raise InvalidRequest, "a key that cannot be read (#{error.message})"
        end
      end
    end
  end
end
