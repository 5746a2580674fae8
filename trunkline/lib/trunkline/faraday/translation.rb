# frozen_string_literal: true

require_relative "../pem_file"
require_relative "../ssl_words"
require_relative "../x509_stores"

module Faraday
  class Adapter
    class Trunkline < Faraday::Adapter
      # Faraday's words for things, and the client's.
      module Translation
        # Seconds: the total when no timeout is set; each phase that has none when one is.
        TOTAL = 60
        PHASES = {
          open_timeout: %i[queue resolve connect tls], write_timeout: %i[write], read_timeout: %i[first_byte read]
        }.freeze
        TIMEOUTS = [:timeout, *PHASES.keys].freeze

        module_function

        # What #lasting depends on.
        # @return [Array] a key
        def settings(request, ssl)
          [request.timeout, request.open_timeout, request.read_timeout, request.write_timeout, request.proxy.dup,
           request.bind.dup, ssl.dup, (::Trunkline::PemFile.stamp(ssl[:ca_file]) if ssl && ssl[:ca_file])]
        end

        # Options that hold for more than one call.
        #
        # @param request [Faraday::RequestOptions]
        # @param ssl [Faraday::SSLOptions]
        # @param on_no_timeout [Symbol] what to do without one: :raise, :limit it to TOTAL, or :leave it to the client
        # @return [Hash{Symbol => Object}]
        # @raise [::Trunkline::MissingTimeout, ::Trunkline::InvalidRequest]
        def lasting(request, ssl, on_no_timeout: :limit)
          options = timeout(request, on_no_timeout)
          options[:proxy] = request[:proxy] ? proxy(request[:proxy]) : false # Faraday reads the environment itself
          options[:bind] = request[:bind][:host] if request[:bind]
          tls(ssl, options)
          options
        end

        # @param env [Faraday::Env]
        # A caller that asks for codings undoes them.
        #
        # @return [Hash{Symbol => Object}] headers: and body:, and what follows of headers that are the client's own
        def message(env)
          options = { headers: [] }
          env[:request_headers].each do |name, value|
            case name.downcase
            when "transfer-encoding" then options[:body] = chunked(env[:body])
            when "expect" then options[:expect] = 1
            else
              options[:decode] = false if name.casecmp?("accept-encoding")
              Array(value).each { |one| options[:headers] << [name, one.to_s] }
            end
          end
          options[:body] ||= env[:body]
          options
        end

        # In the encoding that :net_http gives it: the charset that the Content-Type names, if Ruby knows it; else UTF-8
        # for ASCII that was not compressed, and bytes for everything else.
        #
        # @param response [::Trunkline::Response]
        # @return [String]
        def body(response)
          text = response.body
          named = text.encoding != Encoding::BINARY && /;\s*charset=/i.match?(response["content-type"])
          return text if named

          plain = text.ascii_only? && response["content-encoding"].nil?
          text.force_encoding(plain ? Encoding::UTF_8 : Encoding::BINARY)
        end

        # @param error [::Trunkline::Error]
        # @return [Faraday::Error] with error as its wrapped_exception
        def error(error)
          case error
          when ::Trunkline::TimeoutError then Faraday::TimeoutError.new(error)
          when ::Trunkline::TLSError then Faraday::SSLError.new(error)
          else Faraday::ConnectionFailed.new(error)
          end
        end

        def timeout(request, on_none)
          given = TIMEOUTS.to_h { |name| [name, request[name]] }.compact
          return untimed(on_none) if given.empty?

          limits = PHASES.each_with_object({}) do |(name, phases), all|
            seconds = given.fetch(name) { TOTAL unless given[:timeout] }
            phases.each { |phase| all[phase] = seconds }
          end
          { timeout: limits.compact.merge(total: given[:timeout]) }
        end

        def untimed(on_none)
          return {} if on_none == :leave
          return { timeout: TOTAL } if on_none == :limit

          raise ::Trunkline::MissingTimeout, "no timeout: set one of #{TIMEOUTS.join(", ")} in the request's options " \
                                             "(the adapter was told to require one)"
        end

        def proxy(proxy)
          uri = proxy[:uri].dup
          uri.path = ""
          uri.scheme = "socks5" if uri.scheme == "socks"
          uri.user = ::Trunkline::Percent.userinfo(proxy[:user]) if proxy[:user]
          uri.password = ::Trunkline::Percent.userinfo(proxy[:password]) if proxy[:password]
          uri.to_s
        end

        def tls(ssl, options)
          return if ssl.nil? || ssl.to_hash.empty?

          trust(ssl, options)
          options[:tls_name] = ssl[:hostname] if ssl[:hostname]
          options[:ciphers] = ::Trunkline::SSLWords.ciphers(ssl[:ciphers]) if ssl[:ciphers]
          options.merge!(::Trunkline::SSLWords.versions(ssl.to_hash, "ssl: "))
          certificate(ssl, options)
        end

        # As :net_http: verify_mode counts more than verify, and ca_file and ca_path are trusted beside the rest.
        def trust(ssl, options)
          verify = ssl[:verify_mode] ? !ssl[:verify_mode].zero? : ssl[:verify] != false
          return options[:verify] = false unless verify

          options[:verify] = true
          options[:verify_hostname] = false if ssl[:verify_hostname] == false
          options[:verify_depth] = ssl[:verify_depth] if ssl[:verify_depth]
          options.merge!(::Trunkline::X509Stores.together(ssl[:cert_store], ssl[:ca_file], ssl[:ca_path]))
        end

        def certificate(ssl, options)
          certificate = ssl[:client_cert] || ssl[:certificate]
          key = ssl[:client_key] || ssl[:private_key]
          options[:client_cert] = ::Trunkline::PemFile.path(certificate) if certificate
          options[:client_key] = ::Trunkline::PemFile.path(key) if key
        end

        # A body that has a length would tell it.
        def chunked(body)
          body.respond_to?(:read) ? -> { body.read(::Trunkline::Body::CHUNK_BYTES) } : [body.to_s].each
        end

        private_class_method :timeout, :untimed, :proxy, :tls, :trust, :certificate, :chunked
      end
    end
  end
end
