# frozen_string_literal: true

require "openssl"
require_relative "failures"
require_relative "limits"
require_relative "tls_on_jruby"
require_relative "tls_relay"
require_relative "tls_sessions"
require_relative "tls_socket_io"
require_relative "tls_socket_io_on_jruby" if RUBY_ENGINE == "jruby"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # An OpenSSL context for TLS options. Clients with the same options and files use one context, so that they can
      # share connections; changed files are read again.
      class TLSContext
        include Redacted

        # Paths where distributions keep CA certificates, for an OpenSSL that was built for other paths.
        BUNDLES = %w[/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem
                     /etc/ssl/cert.pem /usr/local/etc/ssl/cert.pem].freeze
        PEM = "-----BEGIN "
        private_constant :BUNDLES, :PEM

        @lock = Lock.new
        @all = {}
        @last_id = 0

        class << self
          # @param options [Hash]
          # @return [TLSContext]
          # @raise [Failure]
          def obtain(options)
            @lock.synchronize do
              key = key_of(options)
              found = @all.delete(key) || new(options, @last_id += 1)
              @all[key] = found
              @all.delete(@all.first.first) if @all.size > Limits::TLS_CONTEXTS
              found
            end
          end

          # @return [Array] equal as long as options and files are the same
          def key_of(options)
            files = %i[client_cert client_key ca_file ca_path].map { |name| state_of(options.fetch(name)) }
            store = options.fetch(:ca_store)
            [options.except(:ca_store), store&.object_id, files, store ? nil : system_state(options)]
          end

          def authorities(options)
            file, path = options.values_at(:ca_file, :ca_path)
            return [file, path] if file || path

            system_authorities
          end

          private

          def state_of(path)
            return if path.nil? || path.include?(PEM)

            about = File.stat(path)
            [about.ino, about.mtime, about.size]
          rescue SystemCallError
            nil
          end

          def system_state(options)
            return if !options.fetch(:verify) || options.fetch(:ca_file) || options.fetch(:ca_path)

            system_authorities.compact.map { |path| [path, state_of(path)] }
          end

          def system_authorities
            file = environment(OpenSSL::X509::DEFAULT_CERT_FILE_ENV)
            path = environment(OpenSSL::X509::DEFAULT_CERT_DIR_ENV)
            return TLSOnJRuby.authorities(file, path, BUNDLES) if TLSOnJRuby::ON_JRUBY

            of_openssl(file, path)
          end

          def of_openssl(file, path)
            chosen = file || path
            file ||= OpenSSL::X509::DEFAULT_CERT_FILE
            path ||= OpenSSL::X509::DEFAULT_CERT_DIR
            return [file, path] if chosen || File.readable?(file) || File.readable?(path)

            [BUNDLES.find { |one| File.readable?(one) } || file, path]
          end

          def environment(name) = ENV.fetch(name, nil).then { |value| value unless value.to_s.empty? }
        end

        # @return [Integer] part of the keys of connections
        attr_reader :id
        # @return [String] the trusted CA certificates, in words
        attr_reader :authorities

        def initialize(options, id)
          @options = options
          @id = id
          @key = TLSContext.key_of(options)
          @sessions = TLSSessions.new
          @authorities = authorities_in_words
          @context = make
        end

        def verify? = @options.fetch(:verify)
        def any_name? = !@options.fetch(:verify_hostname)
        def common_name? = @options.fetch(:common_name)
        def verify_depth = @options.fetch(:verify_depth)

        # Begins a handshake.
        # @param io [SocketIO] the connected socket
        # @param name [String] the name to verify, and to send as SNI
        # @param key [String] the key of the sessions that can be resumed
        # @return [TLSSocketIO]
        # @raise [Failure]
        def open(io, name, key)
          reload_changed_files
          relayed = io.tls_version || !TLSOnJRuby.takes?(io.socket)
          socket = relayed ? TLSRelay.open(io) : io.socket
          kind = TLSOnJRuby::ON_JRUBY ? TLSSocketIOOnJRuby : TLSSocketIO
          kind.new(socket, @context, self, name, @sessions, key)
        end

        private

        # Files that cannot be used (half written, a key without its certificate) are not read again until they change.
        def reload_changed_files
          key = TLSContext.key_of(@options)
          return if key == @key

          @key = key
          before = @sessions
          @sessions = TLSSessions.new
          @context = make
        rescue Failure
          @sessions = before
        end

        def authorities_in_words
          return "ca_store" if @options.fetch(:ca_store)

          file, path = @options.values_at(:ca_file, :ca_path)
          return "the system's CA certificates" unless file || path

          file ? "ca_file #{file}" : "ca_path #{path}"
        end

        def make
          context = OpenSSL::SSL::SSLContext.new
          context.verify_mode = verify? ? OpenSSL::SSL::VERIFY_PEER : OpenSSL::SSL::VERIFY_NONE
          context.verify_hostname = false # TLSSocketIO verifies the name, by stricter rules
          context.cert_store = store if verify?
          context.verify_callback = ->(good, store) { TLSSocketIO.current.verify(good, store) } if verify?
          context.alpn_protocols = @options.fetch(:alpn)
          # JRuby would set it in the store, which other contexts use too: TLSSocketIOOnJRuby checks the depth.
          context.verify_depth = verify_depth if verify_depth && !TLSOnJRuby::ON_JRUBY
          limit_versions(context)
          choose_ciphers(context)
          use_client_certificate(context)
          keep_sessions(context)
          write_keylog(context)
          context.setup # JRuby does not call it for a frozen context
          context.freeze
          context
        end

        def failure(words, errno = 0)
          Failure.new(:TLS_OPTIONS, words, phase: :tls, errno: errno)
        end

        # ---- trusted certificates ----

        def store = @options.fetch(:ca_store) || store_of_files

        def store_of_files
          store = OpenSSL::X509::Store.new
          file, path = TLSContext.authorities(@options)
          store.set_default_paths unless file || path
          explicit = @options.fetch(:ca_file) || @options.fetch(:ca_path)
          add_file(store, file) if file && (explicit || File.readable?(file))
          add_path(store, path) if path && (explicit || File.directory?(path))
          store
        end

        def add_path(store, path)
          TLSOnJRuby::ON_JRUBY ? TLSOnJRuby.add_path(store, path) : store.add_path(path)
        end

        def add_file(store, file)
          TLSOnJRuby::ON_JRUBY ? TLSOnJRuby.add_file(store, file) : store.add_file(file)
        rescue OpenSSL::X509::StoreError => error
          raise failure("ca_file #{file}: no certificate read: #{error.message}")
        end

        # ---- versions and ciphers ----

        def limit_versions(context)
          lowest, highest = @options.values_at(:min_version, :max_version)
          lowest = OpenSSL::SSL::TLS1_2_VERSION if lowest.zero?
          context.min_version = lowest
          context.max_version = highest unless highest.zero?
        rescue OpenSSL::SSL::SSLError => error
          versions = format("0x%<lowest>04x to 0x%<highest>04x", lowest: lowest, highest: highest)
          raise failure("TLS versions #{versions}: #{error.message}")
        end

        def choose_ciphers(context)
          choose("ciphers", @options.fetch(:ciphers)) { |list| context.ciphers = list }
          choose("ciphersuites", @options.fetch(:ciphersuites)) do |list|
            newer = context.respond_to?(:ciphersuites=)
            raise failure("ciphersuites #{list[0, 100]}: need a newer openssl for Ruby") unless newer

            context.ciphersuites = list
          end
        end

        def choose(name, list)
          yield list if list
        rescue OpenSSL::SSL::SSLError => error
          words = error.message.sub(/\A.*?: /, "")
          raise failure("#{name} #{list[0, 100]}: #{words}")
        end

        # ---- the client's certificate ----

        def use_client_certificate(context)
          text_or_path, key, password = @options.values_at(:client_cert, :client_key, :client_key_password)
          return unless text_or_path

          certificates = read_certificates(text_or_path)
          private_key = read_key(key || text_or_path, password, text_or_path)
          unless certificates.first.check_private_key(private_key)
            raise failure("client_key #{shown(key || text_or_path)}: is not the key of client_cert")
          end

          present(context, certificates.first, private_key, certificates.drop(1))
        end

        def present(context, *identity)
          TLSOnJRuby::ON_JRUBY ? TLSOnJRuby.add_certificate(context, *identity) : context.add_certificate(*identity)
        end

        def read_certificates(text_or_path)
          text = text_of("client_cert", text_or_path)
          TLSOnJRuby::ON_JRUBY ? TLSOnJRuby.certificates(text) : OpenSSL::X509::Certificate.load(text)
        rescue OpenSSL::X509::CertificateError, *TLSOnJRuby::ERRORS => error
          raise failure("client_cert #{shown(text_or_path)}: #{error.message}")
        end

        def read_key(text_or_path, password, certificates)
          text = text_of("client_key", text_or_path)
          OpenSSL::PKey.read(text, password || "")
        rescue OpenSSL::PKey::PKeyError, *TLSOnJRuby::ERRORS => error
          raise no_key(text_or_path, certificates) unless text.include?("ENCRYPTED")
          raise failure("client_key #{shown(text_or_path)}: #{error.message}") if password

          raise failure("client_key #{shown(text_or_path)}: is encrypted, and client_key_password is not given")
        end

        def no_key(text_or_path, certificates)
          words = "holds no private key that can be read"
          return failure("client_key #{shown(text_or_path)}: #{words}") unless text_or_path == certificates

          failure("client_cert #{shown(text_or_path)}: #{words}; give client_key")
        end

        def text_of(option, text_or_path)
          # Comments in the file may be in any encoding.
          text_or_path.include?(PEM) ? text_or_path.b : File.binread(text_or_path)
        rescue SystemCallError => error
          raise failure("#{option} #{text_or_path}: #{Failure.strerror(error.errno)}", error.errno)
        end

        def shown(text_or_path) = text_or_path.include?(PEM) ? "given as text" : text_or_path

        # ---- sessions and the key log ----

        # On JRuby, Java resumes sessions itself.
        def keep_sessions(context)
          return unless context.respond_to?(:session_new_cb=)

          context.session_cache_mode = OpenSSL::SSL::SSLContext::SESSION_CACHE_CLIENT |
                                       OpenSSL::SSL::SSLContext::SESSION_CACHE_NO_INTERNAL
          sessions = @sessions
          context.session_new_cb = lambda do |(ssl, session)|
            key = ssl.instance_variable_get(:@trunkline_key)
            sessions.keep(key, session) if key
            nil
          end
        end

        def write_keylog(context)
          path = @options.fetch(:keylog) or return
          raise failure("keylog #{path}: needs a newer openssl for Ruby") unless context.respond_to?(:keylog_cb=)

          File.open(path, File::WRONLY | File::APPEND | File::CREAT, 0o600) { nil }
          context.keylog_cb = lambda do |_ssl, line|
            File.open(path, File::WRONLY | File::APPEND | File::CREAT, 0o600) { |file| file.syswrite("#{line}\n") }
          rescue SystemCallError # a failed write must not fail the call
            nil
          end
        rescue SystemCallError => error
          raise failure("keylog #{path}: #{Failure.strerror(error.errno)}", error.errno)
        end
      end
    end
  end
end
