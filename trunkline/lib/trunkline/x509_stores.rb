# frozen_string_literal: true

require "openssl"
require_relative "errors"
require_relative "memo"
require_relative "pem_file"

module Trunkline
  # The authorities that another library's object trusts. Most libraries make a new OpenSSL::X509::Store of the same
  # certificates for each of their requests, and connections that trust different stores are not shared. So what is
  # done to a store is noted, and those to which the same was done become one store.
  #
  # @api private
  module X509Stores
    # In front of OpenSSL::X509::Store's own methods. A store that was there before, or that has rules of its own
    # (flags, times, revocation lists), has no notes: it is taken as it is.
    module Notes
      # @return [Array<Array>, nil] what was done to it: names and arguments of methods
      attr_reader :trunkline_notes

      def initialize(...)
        super
        @trunkline_notes = [].freeze
      end

      %i[add_file add_path add_cert set_default_paths].each do |name|
        define_method(name) do |*arguments|
          result = super(*arguments)
          @trunkline_notes = [*@trunkline_notes, [name, *arguments].freeze].freeze if @trunkline_notes
          result
        end
      end

      %i[add_crl flags= purpose= trust= time= verify_callback=].each do |name|
        define_method(name) do |argument|
          @trunkline_notes = nil
          super(argument)
        end
      end
    end

    SYSTEM = [[:set_default_paths]].freeze
    KNOWN = 32
    private_constant :KNOWN

    @known = {}
    @latest = {} # by what they are made of, whatever state its files are in

    class << self
      # Idempotent.
      def watch
        OpenSSL::X509::Store.prepend(Notes)
      end

      # Net::HTTP adds ca_file and ca_path to the store; a store without notes cannot be asked what it holds.
      # @return [Boolean]
      def readable?(http)
        (http.ca_file.nil? && http.ca_path.nil?) || http.cert_store.nil? || !notes(http.cert_store).nil?
      end

      # As Net::HTTP trusts: a file and a path alone take the place of the system's authorities.
      #
      # @param http [Net::HTTP]
      # @return [Hash{Symbol => Object}] ca_file:, ca_path: or ca_store:, or none for the system's
      def options(http)
        store = http.cert_store
        return { ca_file: http.ca_file, ca_path: http.ca_path }.compact unless store

        notes(store) ? together(store, http.ca_file, http.ca_path) : { ca_store: store }
      end

      # @param store [OpenSSL::X509::Store, nil] nil: the system's authorities
      # @param ca_file [String, nil] trusted besides; so is ca_path
      # @return [Hash{Symbol => Object}] ca_store:, or none for the system's
      # @raise [InvalidRequest] when they cannot be read
      def together(store, ca_file, ca_path)
        more = { add_file: ca_file, add_path: ca_path }.compact.to_a
        notes = store ? notes(store) : SYSTEM
        return { ca_store: more.each_with_object(store) { |note, one| one.public_send(*note) } } unless notes

        notes = (notes + more).uniq
        notes == SYSTEM ? {} : { ca_store: shared(notes) }
      rescue OpenSSL::X509::StoreError, SystemCallError => error
        why = error.is_a?(SystemCallError) ? error.class.new.message : error.message # which may quote what was given
        raise InvalidRequest, "ca_file: #{InvalidRequest.shown("ca_file", ca_file)}, ca_path: " \
                              "#{InvalidRequest.shown("ca_path", ca_path)}: cannot be read (#{why})", cause: nil
      end

      private

      def notes(store)
        return store.trunkline_notes if store.respond_to?(:trunkline_notes) && store.trunkline_notes

        SYSTEM if store.equal?(OpenSSL::SSL::SSLContext::DEFAULT_CERT_STORE)
      end

      # A store of our own, which nobody can change later. While a file that was rotated cannot be read, it is the one
      # of before.
      def shared(notes)
        key = notes.map { |name, argument| identity(name, argument) }
        @known[key] || begin
          store = notes.each_with_object(OpenSSL::X509::Store.new) { |note, one| one.public_send(*note) }
          Memo.keep(@latest, KNOWN, key.map { |note| note.first(2) }, Memo.keep(@known, KNOWN, key, store))
        end
      rescue OpenSSL::X509::StoreError
        @latest[key.map { |note| note.first(2) }] || raise
      end

      # A file that has changed holds other certificates.
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
