# frozen_string_literal: true

require_relative "../errors"

module Trunkline
  class Bulk
    module Codec
      # Included in objects that replace an item; their message says why.
      module Unusable; end

      # Replaces an item that a source could not read.
      Unreadable = Struct.new(:text, :message) do
        include Unusable

        def to_s = text.dup.force_encoding(Encoding::UTF_8).scrub
      end

      # Replaces a record that no longer exists. reference: its encoded form.
      Missing = Struct.new(:reference) do
        include Unusable

        def to_s = "the record #{reference.values.flatten.join(" ")} is gone"
        alias_method :message, :to_s
      end

      # References to records: a GlobalID, if the application has a name for these (Rails sets one), else the class and
      # the primary key of a record of ActiveRecord.
      #
      # @api private
      module References
        CLASS = /\A[A-Z]\w*(::[A-Z]\w*)*\z/
        # Records per query. With a primary key of several columns each record adds a condition, and databases limit
        # their depth.
        AT_ONCE = 500
        private_constant :AT_ONCE, :CLASS

        module_function

        # @param value [Object]
        # @return [Hash, nil] nil if value is not a record
        # @raise [InvalidItem] for a record that cannot be found again
        def of(value)
          return value.reference if value.is_a?(Missing)
          return { "_g" => value.to_global_id.to_s } if global?(value)
          return unless record_class?(value.class)

          id = value.id
          return { "_r" => [value.class.name, id] } if CLASS.match?(value.class.name) && Array(id).any?

          raise InvalidItem, "a record is found again by its class and its primary key, which #{value.inspect} has not"
        end

        # @param value [Hash]
        # @return [Boolean]
        def reference?(value) = value.key?("_g") || value.key?("_r")

        # @param values [Array] the parsed JSON
        # @return [Hash{Hash => Object}] records by their references
        def locate(values)
          by_global_id, by_class = collect(values).uniq.partition { |reference| reference.key?("_g") }
          found = {}
          by_class = by_class.group_by { |reference| reference["_r"].first }
          by_class.each { |name, references| find(class_of(name), references, found) }
          return found if by_global_id.empty?

          records = GlobalID::Locator.locate_many(by_global_id.map { |one| one["_g"] }, ignore_missing: true)
          records.each { |record| found[{ "_g" => record.to_global_id.to_s }] = record }
          found
        end

        def global?(value)
          return false unless value.respond_to?(:to_global_id)

          !record_class?(value.class) || !::GlobalID.app.nil?
        end

        def record_class?(value) = defined?(::ActiveRecord::Base) && value.is_a?(Class) && value < ::ActiveRecord::Base

        # Only classes of records are accepted, because the name is read from the state.
        def class_of(name)
          found = Object.const_get(name) if name.is_a?(String) && CLASS.match?(name)
          record_class?(found) ? found : raise(InvalidItem, "#{name} is no class of records")
        end

        def find(model, references, found)
          by_id = references.to_h { |one| [Array(one["_r"].last).map(&:to_s), one] }
          references.each_slice(AT_ONCE) do |some|
            model.unscoped.where(model.primary_key => some.map { |one| one["_r"].last }).each do |record|
              found[by_id[Array(record.id).map(&:to_s)]] = record
            end
          end
        end

        def collect(value)
          case value
          when Array then value.flat_map { |one| collect(one) }
          when Hash then reference?(value) ? [value] : value.values.flat_map { |one| collect(one) }
          else []
          end
        end
        private_class_method :global?, :record_class?, :class_of, :find, :collect
      end
    end
  end
end
