# frozen_string_literal: true

require "delegate"

module Typhoeus
  # Defined in full in response.rb.
  class Response
    # Header fields: a Hash whose names are compared without case. The value of a field that occurs more than once is an
    # Array.
    class Header < DelegateClass(Hash)
      LINE_END = /\r?\n(?![ \t])/
      FOLD = /\r?\n[ \t]+/

      # Methods of Hash that change several fields, or choose the field themselves: the index is rebuilt afterwards.
      BULK = %i[delete_if keep_if select! filter! reject! shift compact! transform_keys! transform_values!].freeze
      private_constant :LINE_END, :FOLD, :BULK

      # @param raw [String, Hash, Array<Array(String, String)>, nil] raw fields, or names and values
      def initialize(raw)
        super({})
        @index = {}
        case raw
        when String then parse(raw)
        when Array then raw.each { |name, value| add(name, value) }
        else raw&.each_pair { |name, value| add(name, value) }
        end
      end

      def [](name)
        key = @index[fold(name)]
        key && __getobj__[key]
      end

      # @return [String] with credentials hidden
      def inspect
        "#<#{self.class} #{::Trunkline::Headers.redact(__getobj__).to_h}>"
      end
      alias to_s inspect

      # Prevents pp from printing the Hash, which contains credentials.
      def pretty_print(printer)
        printer.text(inspect)
      end

      # @return [String]
      def pretty_inspect
        "#{inspect}\n"
      end

      # Replaces the field, whatever the case of its name.
      def []=(name, value)
        delete(name)
        key = name.to_s
        @index[fold(key)] = key
        __getobj__[key] = value
      end
      alias store []=

      def delete(name)
        key = @index.delete(fold(name))
        key && __getobj__.delete(key)
      end

      def key?(name)
        @index.key?(fold(name))
      end
      alias include? key?
      alias has_key? key?
      alias member? key?

      def fetch(name, *default, &block)
        key = @index[fold(name)]
        return __getobj__[key] if key
        return yield(name) if block

        __getobj__.fetch(name, *default)
      end

      def dig(name, *rest)
        value = self[name]
        rest.empty? || value.nil? ? value : value.dig(*rest)
      end

      def assoc(name)
        key = @index[fold(name)]
        key && [fold(name), __getobj__[key]]
      end

      def values_at(*names)
        names.map { |name| self[name] }
      end

      def fetch_values(*names, &block)
        names.map { |name| fetch(name, &block) }
      end

      def clear
        @index.clear
        __getobj__.clear
        self
      end

      # @yield [name, old, new] returns the value of a field that exists already
      def update(*others)
        others.each do |other|
          other.each_pair do |name, value|
            self[name] = block_given? && key?(name) ? yield(name, self[name], value) : value
          end
        end
        self
      end
      alias merge! update

      def merge(*others, &block)
        dup.update(*others, &block)
      end

      def replace(other)
        clear.update(other)
      end

      BULK.each do |name|
        define_method(name) do |*arguments, &block|
          next enum_for(name) if block.nil? && arguments.empty? && !%i[shift compact!].include?(name)

          result = __getobj__.public_send(name, *arguments, &block)
          reindex
          result.equal?(__getobj__) ? self : result
        end
      end

      def initialize_dup(other)
        super
        own(other)
      end

      def initialize_clone(other, **options)
        super
        own(other)
      end

      private

      def fold(name)
        name.to_s.downcase
      end

      def parse(raw)
        raw.split(LINE_END).each do |line|
          line = line.strip
          next if line.empty? || line.start_with?("HTTP/")

          name, value = line.split(":", 2)
          add(name.strip, value ? value.strip.gsub(FOLD, " ") : "")
        end
      end

      def add(name, value)
        value = value.dup if value.is_a?(Array) || value.is_a?(String)
        folded = fold(name)
        known = @index[folded]
        return self[name] = [*__getobj__[known], *value] if known

        @index[folded] = key = name.to_s
        __getobj__[key] = value
      end

      def own(other)
        __setobj__(other.__getobj__.transform_values { |value| value.is_a?(Array) ? value.map(&:dup) : value.dup })
        reindex
      end

      def reindex
        @index = __getobj__.keys.to_h { |key| [fold(key), key] }
      end
    end
  end
end
