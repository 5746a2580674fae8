# frozen_string_literal: true

require "openssl"

module Trunkline
  module Engine
    module Ruby
      # Replaces methods that JRuby's openssl, which uses Java's TLS, lacks or implements differently.
      module TLSOnJRuby
        ON_JRUBY = RUBY_ENGINE == "jruby"
        PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/m
        private_constant :PEM_CERTIFICATE
        # Errors, besides OpenSSL's, that JRuby's openssl raises for unreadable input.
        ERRORS = ON_JRUBY ? [Java::JavaLang::RuntimeException].freeze : [].freeze

        module_function

        # @param socket [IO]
        # @return [Boolean] whether an SSLSocket can use it; JRuby's needs the port of the peer
        def takes?(socket) = !ON_JRUBY || !socket.is_a?(UnixOnJRuby)

        # JRuby's default file is Java's own certificate store, which only #set_default_paths can read.
        # @param bundles [Array<String>]
        # @return [Array(String, String), Array(nil, nil)] file and path; nil: Java's own store
        def authorities(file, path, bundles)
          file || path ? [file, path] : [bundles.find { |one| File.readable?(one) }, nil]
        end

        # Replaces Store#add_file, which accepts a file without certificates.
        def add_file(store, file)
          raise OpenSSL::X509::StoreError, "there is none" unless File.binread(file).match?(PEM_CERTIFICATE)

          store.add_file(file)
        rescue SystemCallError => error
          raise OpenSSL::X509::StoreError, error.message
        end

        # Adds all certificates of a directory, since JRuby does not look them up there.
        def add_path(store, path)
          Dir["#{path}/????????.[0-9]*"].each { |file| store.add_file(file) }
        end

        # Replaces Certificate.load.
        def certificates(text)
          found = text.scan(PEM_CERTIFICATE)
          found = [text] if found.empty?
          found.map { |one| OpenSSL::X509::Certificate.new(one) }
        end

        # Replaces SSLContext#add_certificate. The chain includes the certificate itself.
        def add_certificate(context, certificate, key, issuers)
          context.cert = certificate
          context.key = key
          context.extra_chain_cert = [certificate, *issuers]
        end
      end
    end
  end
end
