# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../percent"
require_relative "../pem_file"
require_relative "../ssl_context_options"
require_relative "../x509_stores"

module Trunkline
  module Facades
    module Faraday
      # Maps Faraday's request and ssl options to client options.
      module Options
        # Seconds: the total when no timeout is set; the limit of each phase that has none when another phase has one,
        # and of each phase of a stream.
        TOTAL = 60
        PHASES = {
          open_timeout: %i[queue resolve connect tls], write_timeout: %i[write], read_timeout: %i[first_byte read]
        }.freeze
        TIMEOUTS = [:timeout, *PHASES.keys].freeze
        MISSING = "no timeout: set one of #{TIMEOUTS.join(", ")} in the request's options " \
                  "(the adapter, or Trunkline.configure, was told to require one)".freeze

        module_function

        # @return [Array] the values that #client_options reads, as the key of a client; its elements are mutable
        def key(request, ssl)
          [request.stream_response?, request.timeout, request.open_timeout, request.read_timeout, request.write_timeout,
           request.proxy, request.bind, ssl, (PemFile.stamp(ssl[:ca_file]) if ssl && ssl[:ca_file])]
        end

        # @param request [Faraday::RequestOptions]
        # @param ssl [Faraday::SSLOptions]
        # @param on_no_timeout [Symbol] when no timeout is set, :raise raises MissingTimeout, :limit sets the total to
        #   TOTAL, and :leave leaves the timeout to the client. A stream (on_data) has no total: its timeout limits each
        #   wait, as in net_http
        # @return [Hash{Symbol => Object}]
        # @raise [MissingTimeout, InvalidRequest]
        def client_options(request, ssl, on_no_timeout: :limit)
          options = timeout(request, on_no_timeout)
          options[:proxy] = request[:proxy] ? proxy(request[:proxy]) : false # Faraday reads the environment itself
          options[:bind] = request[:bind][:host] if request[:bind]
          tls(ssl, options)
          options
        end

        def timeout(request, on_none)
          timeouts = TIMEOUTS.to_h { |name| [name, request[name]] }.compact
          return {} if timeouts.empty? && on_none == :leave
          raise MissingTimeout, MISSING if timeouts.empty? && on_none == :raise
          return { timeout: phases(timeouts, timeouts.fetch(:timeout, TOTAL)) } if request.stream_response?
          return { timeout: TOTAL } if timeouts.empty?

          { timeout: phases(timeouts, (TOTAL unless timeouts[:timeout])).merge(total: timeouts[:timeout]) }
        end

        # @param rest [Numeric, nil] the limit, in seconds, of each phase that `timeouts` does not limit
        def phases(timeouts, rest)
          PHASES.flat_map { |name, phases| phases.map { |phase| [phase, timeouts.fetch(name, rest)] } }.to_h.compact
        end

        def proxy(proxy)
          uri = proxy[:uri].dup
          uri.path = ""
          uri.scheme = "socks5" if uri.scheme == "socks"
          uri.user = Percent.component(proxy[:user]) if proxy[:user]
          uri.password = Percent.component(proxy[:password]) if proxy[:password]
          uri.to_s
        end

        def tls(ssl, options)
          return if ssl.nil? || ssl.to_hash.empty?

          trust(ssl, options)
          options[:tls_name] = ssl[:hostname] if ssl[:hostname]
          options[:ciphers] = SSLContextOptions.ciphers(ssl[:ciphers]) if ssl[:ciphers]
          options.merge!(SSLContextOptions.versions(ssl.to_hash, "ssl: "))
          certificate(ssl, options)
        end

        # As in :net_http, verify_mode overrides verify, and ca_file and ca_path are trusted in addition to the rest.
        def trust(ssl, options)
          verify = ssl[:verify_mode] ? !ssl[:verify_mode].zero? : ssl[:verify] != false
          return options[:verify] = false unless verify

          options[:verify] = true
          options[:verify_hostname] = false if ssl[:verify_hostname] == false
          options[:verify_depth] = ssl[:verify_depth] if ssl[:verify_depth]
          options.merge!(X509Stores.together(ssl[:cert_store], ssl[:ca_file], ssl[:ca_path]))
        end

        def certificate(ssl, options)
          certificate = ssl[:client_cert] || ssl[:certificate]
          key = ssl[:client_key] || ssl[:private_key]
          options[:client_cert] = PemFile.path(certificate) if certificate
          options[:client_key] = PemFile.path(key) if key
        end

        private_class_method :timeout, :phases, :proxy, :tls, :trust, :certificate
      end
    end
  end
end
