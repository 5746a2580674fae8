# frozen_string_literal: true

require "openssl"
require_relative "../errors"
require_relative "../memo"
require_relative "pem_file"
require_relative "../engine/ruby/tls_on_jruby" if RUBY_ENGINE == "jruby"

module Trunkline
  module Facades
    # The certificate authorities that another library's object trusts. Most libraries make a new OpenSSL::X509::Store
    # of the same certificates for each request, and connections with different stores are not shared. So the calls that
    # fill a store are recorded, and stores with the same record are replaced by one store.
    module X509Stores
      # Prepended to OpenSSL::X509::Store. A store that was made before that, or that has further attributes (flags,
      # times, revocation lists), has no record and is used unchanged.
      module Recorder
        # @return [Array<Array>, nil] the calls that filled the store: names and arguments of methods
        attr_reader :trunkline_record

        def initialize(...)
          super
          @trunkline_record = [].freeze
        end

        %i[add_file add_path add_cert set_default_paths].each do |name|
          define_method(name) do |*arguments|
            result = super(*arguments)
            @trunkline_record = [*@trunkline_record, [name, *arguments].freeze].freeze if @trunkline_record
            result
          end
        end

        %i[add_crl flags= purpose= trust= time= verify_callback=].each do |name|
          define_method(name) do |argument|
            @trunkline_record = nil
            super(argument)
          end
        end
      end

      SYSTEM = [[:set_default_paths]].freeze
      CACHE_LIMIT = 32
      FROM_FILES = %i[add_file add_path].freeze
      private_constant :CACHE_LIMIT, :FROM_FILES

      @known = {}
      @latest = {} # by record without the files' times: the store to use while a changed file cannot be read

      class << self
        # Records the calls of stores that are made from now on. Idempotent.
        def start_recording
          OpenSSL::X509::Store.prepend(Recorder)
        end

        # @param store [OpenSSL::X509::Store]
        # @return [Boolean] whether the contents of the store are known
        def recorded?(store) = !record_of(store).nil?

        # Adds to the authorities of a store. A store without a record is itself modified.
        #
        # @param store [OpenSSL::X509::Store, nil] nil: the system's authorities
        # @param ca_file [String, nil] trusted in addition
        # @param ca_path [String, nil] trusted in addition
        # @return [Hash{Symbol => Object}] ca_store:; empty for the system's authorities
        # @raise [InvalidRequest] when a file or directory cannot be read
        def together(store, ca_file, ca_path)
          more = { add_file: ca_file, add_path: ca_path }.compact.to_a
          record = store ? record_of(store) : SYSTEM
          return { ca_store: fill(store, more) } unless record

          record = (record + more).uniq
          record == SYSTEM ? {} : { ca_store: shared(record) }
        rescue OpenSSL::X509::StoreError, SystemCallError => error
          reason = reason_of(error, [ca_file, ca_path])
          raise InvalidRequest, "ca_file: #{InvalidRequest.shown("ca_file", ca_file)}, ca_path: " \
                                "#{InvalidRequest.shown("ca_path", ca_path)}: cannot be read (#{reason})", cause: nil
        end

        private

        # The message of a SystemCallError, and on JRuby of any error, may quote the argument. The message of a new
        # instance of the class does not.
        def reason_of(error, paths)
          return error.class.new.message if error.is_a?(SystemCallError)

          paths.compact.any? { |one| error.message.include?(one.to_s) } ? error.class.name : error.message
        end

        # @param calls [Array<Array>] names and arguments of methods of a store
        # @return [OpenSSL::X509::Store] store
        def fill(store, calls)
          calls.each { |name, *arguments| add(store, name, arguments) }
          store
        end

        # JRuby's stores have no add_path, and their add_file accepts a file without certificates.
        def add(store, name, arguments)
          return store.public_send(name, *arguments) unless RUBY_ENGINE == "jruby" && FROM_FILES.include?(name)

          Engine::Ruby::TLSOnJRuby.public_send(name, store, *arguments)
        end

        def record_of(store)
          return store.trunkline_record if store.respond_to?(:trunkline_record) && store.trunkline_record

          SYSTEM if store.equal?(OpenSSL::SSL::SSLContext::DEFAULT_CERT_STORE)
        end

        # The store belongs to this module, so no caller can change it later. While a changed file cannot be read, the
        # previous store is used.
        def shared(record)
          key = record.map { |name, argument| identity(name, argument) }
          @known[key] || begin
            store = fill(OpenSSL::X509::Store.new, record)
            Memo.keep(@known, CACHE_LIMIT, key, store)
            Memo.keep(@latest, CACHE_LIMIT, key.map { |call| call.first(2) }, store)
          end
        rescue OpenSSL::X509::StoreError
          @latest[key.map { |call| call.first(2) }] || raise
        end

        # A changed file counts as another file.
        def identity(name, argument)
          case name
          when :add_file then [name, argument, PemFile.stamp(argument)]
          when :add_cert then [name, argument.to_der]
          else [name, argument]
          end
        end
      end
    end
  end
end
