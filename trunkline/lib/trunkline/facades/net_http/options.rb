# frozen_string_literal: true

require "openssl"
require_relative "../../host"
require_relative "../../options"
require_relative "../../percent"
require_relative "../../timeouts"
require_relative "../../url"
require_relative "../connections"
require_relative "../pem_file"
require_relative "../ssl_context_options"
require_relative "../x509_stores"

module Trunkline
  module Facades
    module NetHTTP
      # Maps the attributes of a Net::HTTP object to client options.
      module Options
        # Net::HTTP's default keep_alive_timeout. The engine checks an idle connection before each use, so this default
        # is replaced by the engine's longer one.
        DEFAULT_KEEP_ALIVE = 2
        # Seconds, in place of 0, which expires at once in Net::HTTP and is not a valid timeout of a client.
        SHORTEST = 0.001

        TLS_1_2 = 0x0303

        ADDRESS = /\A[\d.]+\z|:/

        # Attributes that Trunkline does not support, each with a check of whether an object has it.
        OBSTACLES = {
          "a proxy together with ipaddr" => ->(http) { http.proxy? && http.instance_variable_get(:@ipaddr) },
          "a proxy over TLS" => ->(http) { http.proxy? && http.instance_variable_get(:@proxy_use_ssl) },
          "local_host, which is no address" => ->(http) { http.local_host && !ADDRESS.match?(http.local_host) },
          "local_port" => :local_port.to_proc
        }.freeze
        TLS_OBSTACLES = {
          "verify_callback" => :verify_callback.to_proc,
          "a version of TLS before 1.2" => ->(http) { old_tls?(http) },
          "cert_store together with ca_file or ca_path" => ->(http) { adds_to_unrecorded_store?(http) }
        }.freeze

        class << self
          # @param http [Net::HTTP]
          # @return [String, nil] an attribute that Trunkline does not support
          def obstacle(http)
            found = OBSTACLES.find { |_, present| present.call(http) }
            found ||= TLS_OBSTACLES.find { |_, present| present.call(http) } if http.use_ssl?
            found&.first
          end

          # @param http [Net::HTTP]
          # @return [URL] of the server
          # @raise [InvalidRequest]
          def origin(http)
            host = Host.normalise(Host.bracketed(http.address.to_s))
            URL.new(http.use_ssl? ? "https" : "http", host, Integer(http.port), "/", nil)
          end

          # @param http [Net::HTTP]
          # @return [Hash{Symbol => Object}]
          # @raise [InvalidRequest]
          def client_options(http)
            options = { timeout: timeouts(http), idle_timeout: idle_timeout(http), proxy: proxy(http), http: :h1 }
            ipaddr = http.instance_variable_get(:@ipaddr) # the reader method reads the address from the socket
            options[:connect_to] = Host.bracketed(ipaddr) if ipaddr
            options[:bind] = http.local_host if http.local_host
            options.merge!(tls(http)) if http.use_ssl?
            options
          end

          # @param value [Numeric, nil]
          # @return [Float, nil] nil for no limit
          def seconds(value)
            value && [Float(value), SHORTEST].max
          end

          private

          # True for an unknown version, too: Net::HTTP raises its own error for it.
          def old_tls?(http)
            [http.ssl_version, http.min_version, http.max_version].any? do |version|
              (SSLContextOptions.version("version", version) || TLS_1_2) < TLS_1_2
            end
          rescue InvalidRequest
            true
          end

          # Net::HTTP adds ca_file and ca_path to cert_store, which changes the caller's store.
          def adds_to_unrecorded_store?(http)
            (http.ca_file || http.ca_path) && http.cert_store && !X509Stores.recorded?(http.cert_store)
          end

          # A timeout of nil is no limit in Net::HTTP.
          def timeouts(http)
            opening = seconds(http.open_timeout)
            reading = seconds(http.read_timeout)
            { queue: nil, resolve: opening, connect: opening, tls: opening, write: seconds(http.write_timeout),
              first_byte: reading, read: reading }.transform_values { |limit| limit || Timeouts::ENDLESS }
          end

          def idle_timeout(http)
            keep_alive = http.keep_alive_timeout
            return Trunkline::Options::DEFAULTS[:idle_timeout] if keep_alive == DEFAULT_KEEP_ALIVE

            seconds(keep_alive) || Connections::NO_LIMIT
          end

          # Without TLS, Net::HTTP itself has written the proxy's credentials into the request.
          # @return [String, false]
          def proxy(http)
            return false unless http.proxy?

            user = [http.proxy_user, http.proxy_pass].map { |text| Percent.component(text.to_s) }.join(":")
            "http://#{"#{user}@" if http.proxy_user && http.use_ssl?}" \
              "#{Host.bracketed(http.proxy_address)}:#{http.proxy_port || 80}"
          end

          def tls(http)
            verify = http.verify_mode != OpenSSL::SSL::VERIFY_NONE
            options = { verify: verify, verify_hostname: http.verify_hostname != false,
                        verify_depth: http.verify_depth }
            options.merge!(SSLContextOptions.versions(version: http.ssl_version, min_version: http.min_version,
                                                      max_version: http.max_version))
            options.merge!(trust(http)) if verify
            options[:ciphers] = SSLContextOptions.ciphers(http.ciphers) if http.ciphers
            options.merge!(certificate(http)) if http.cert
            options
          end

          # As in Net::HTTP, ca_file and ca_path without a store replace the system's authorities.
          def trust(http)
            return { ca_file: http.ca_file, ca_path: http.ca_path }.compact unless http.cert_store

            X509Stores.together(http.cert_store, http.ca_file, http.ca_path)
          end

          def certificate(http)
            options = { client_cert: PemFile.path([http.cert, *http.extra_chain_cert]) }
            return options unless http.key
            raise InvalidRequest, "a key that is no OpenSSL::PKey" unless http.key.respond_to?(:to_pem)

            options.merge(client_key: PemFile.path(http.key))
          end
        end
      end
    end
  end
end
