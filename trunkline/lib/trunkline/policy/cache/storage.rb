# frozen_string_literal: true

require "digest"
require_relative "../../cache"
require_relative "../../interrupts"
require_relative "../../redacted"
require_relative "store_format"
require_relative "variants"

module Trunkline
  module Policy
    class Cache
      # Reads and writes responses in the store that the caller gave. A failing store counts as an empty one; the first
      # failure is logged.
      class Storage
        include Redacted

        # Prefix of the keys in a store that the caller gave. Such a key is a digest, since the store may limit its
        # length and characters.
        PREFIX = "trunkline/1/"
        private_constant :PREFIX

        # @param store [#read, #write, #delete]
        def initialize(store)
          @store = store
          @in_memory = store.is_a?(Trunkline::Cache::Memory)
          @expires = Storage.expires?(store)
          @failure_logged = false
        end

        # @return [Boolean] whether the store's write accepts expires_in:, as ActiveSupport's stores do
        def self.expires?(store)
          kinds = store.method(:write).parameters
          kinds.any? { |kind, name| %i[keyrest rest].include?(kind) || name == :expires_in } ||
            kinds.count { |kind, _| %i[req opt].include?(kind) } > 2
        end

        # @param presented [PresentedRequest]
        # @yield [stored, variants] if anything is stored for the URL
        # @yieldparam stored [StoredResponse, nil] nil when only responses to other values of the varying fields are
        #   stored
        # @yieldparam variants [Variants, nil] the fields that the URL's responses vary by
        # @return [void]
        def find(presented)
          found = read(presented.key) or return
          return yield(found, nil) unless found.is_a?(Variants)

          stored = read(presented.variant_key(found.names, found.token))
          yield((stored unless stored.is_a?(Variants)), found)
        end

        # @param presented [PresentedRequest]
        # @param stored [StoredResponse]
        # @param names [Array<String>] fields that the response varies by
        # @param variants [Variants, nil] found in the store
        # @return [void]
        def store(presented, stored, names, variants)
          seconds = stored.freshness.storage_seconds
          return write(presented.key, stored, seconds) if names.empty?

          variants = Variants.new(names) unless variants && variants.names == names
          write(presented.key, variants, seconds)
          write(presented.variant_key(names, variants.token), stored, seconds)
        end

        # @param keys [Array<String>]
        # @return [void]
        def delete(keys)
          keys.each { |key| guarded(:delete) { @store.delete(name(key)) } }
        end

        private

        def read(key)
          return @store.read(key) if @in_memory

          guarded(:read) { StoreFormat.load(@store.read(name(key))) }
        end

        def write(key, value, seconds)
          guarded(:write) do
            value = StoreFormat.dump(value) unless @in_memory
            @expires ? @store.write(name(key), value, expires_in: seconds.ceil) : @store.write(name(key), value)
          end
        end

        def name(key) = @in_memory ? key : PREFIX + Digest::SHA256.hexdigest(key)

        # @return [Object, nil] nil when the store fails
        def guarded(method)
          Interrupts.watch # an exception that another thread raises here is not a failure of the store
          yield
        rescue StandardError => error
          raise if Interrupts.ended_by?(error)

          log_failure(method, error)
          nil
        end

        def log_failure(method, error)
          return if @failure_logged

          @failure_logged = true
          Trunkline.logger.warn("Trunkline: cache: #{method} of #{@store.class} failed with #{error.class}; calls go " \
                                "on without it. This is told once")
        end
      end
    end
  end
end
