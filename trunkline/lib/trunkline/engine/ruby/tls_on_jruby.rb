# frozen_string_literal: true

require "openssl"

module Trunkline
  module Engine
    module Ruby
      # What the openssl of JRuby, which is Java's TLS, does in another way or not at all.
      module TLSOnJRuby
        HERE = RUBY_ENGINE == "jruby"
        PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/m
        private_constant :PEM_CERTIFICATE
        # What it raises, beside errors of OpenSSL's names, for what it cannot read.
        ERRORS = HERE ? [Java::JavaLang::RuntimeException].freeze : [].freeze

        module_function

        # @param socket [IO]
        # @return [Boolean] whether an SSLSocket can be made of it; JRuby's wants the port of the peer
        def takes?(socket) = !HERE || !socket.is_a?(UnixOnJRuby)

        # Instead of UNIXSocket.pair, whose sockets no selector of java.nio can wait for.
        # @return [Array(TCPSocket, TCPSocket)] that are connected with each other, and with nobody else
        def pair
          TCPServer.open("127.0.0.1", 0) do |server|
            loop do
              one = TCPSocket.new("127.0.0.1", server.local_address.ip_port)
              other = server.accept
              return [one, other] if one.local_address.ip_port == other.remote_address.ip_port

              [one, other].each(&:close) # another program was faster
            end
          end
        end

        # Its default file is Java's own store of certificates, which can be read by #set_default_paths alone.
        # @param bundles [Array<String>]
        # @return [Array(String, String), Array(nil, nil)] file and path; none: Java's own
        def authorities(file, path, bundles)
          file || path ? [file, path] : [bundles.find { |one| File.readable?(one) }, nil]
        end

        # Instead of Store#add_file, which takes a file without certificates.
        def add_file(store, file)
          raise OpenSSL::X509::StoreError, "there is none" unless File.binread(file).match?(PEM_CERTIFICATE)

          store.add_file(file)
        rescue SystemCallError => error
          raise OpenSSL::X509::StoreError, error.message
        end

        # Adds the certificates of a directory, which are not looked up there.
        def add_path(store, path)
          Dir["#{path}/????????.[0-9]*"].each { |file| store.add_file(file) }
        end

        # Instead of Certificate.load.
        def certificates(text)
          found = text.scan(PEM_CERTIFICATE)
          found = [text] if found.empty?
          found.map { |one| OpenSSL::X509::Certificate.new(one) }
        end

        # Instead of SSLContext#add_certificate. The chain has the certificate itself, too.
        def add_certificate(context, own, key, issuers)
          context.cert = own
          context.key = key
          context.extra_chain_cert = [own, *issuers]
        end
      end
    end
  end
end
