# frozen_string_literal: true

require_relative "settings"

module Trunkline
  class Bulk
    # The methods that define a bulk class. A subclass inherits each definition that it does not replace.
    module Definition
      # @yieldreturn [Enumerable, ActiveRecord::Relation, Pathname] the items. A Pathname: the rows of a .csv, the
      #   values of a .jsonl or .ndjson, the lines of any other file
      # @return [nil]
      def source(&block) = define(:source, block)

      # @yield [item] called once for each attempt
      # @yieldreturn [String, Array, Hash] the request, in a form that Client#each accepts; nil if the item needs none
      # @return [nil]
      def request(&block) = define(:request, block)

      # @yield [item, result, key] result: the Response, or the Error; key: a String that is unique to the item, and the
      #   same for each of its attempts. After a process was killed, the block may be called a second time for an item
      # @return [nil]
      def result(&block) = define(:result, block)

      # @yield called several times a second, before finished items are recorded; a result block that buffers its output
      #   needs this block to write it. When the block raises, the run ends, and those items are repeated when it is
      #   resumed
      # @return [nil]
      def flush(&block) = define(:flush, block)

      # @param values [Hash] slice:, concurrency:, per_origin:, in_flight:, robots:, lease:, attempts:, hold:, jobs:,
      #   queue: (Settings), and every option of a client
      # @return [nil]
      # @raise [InvalidRequest]
      def options(**values)
        @settings = settings.with(values)
        nil
      end

      # @return [Settings]
      # @api private
      def settings = @settings || (superclass.respond_to?(:settings) ? superclass.settings : Settings.new)

      # @param name [Symbol] :source, :request, :result, :flush; or :refused, which is called with an item that has
      #   failed without a request, the error, and the item's key
      # @return [Proc, nil]
      # @api private
      def block(name)
        block = @blocks&.fetch(name, nil)
        block || (superclass.respond_to?(:block) ? superclass.block(name) : nil)
      end

      private

      def define(name, block)
        raise InvalidRequest, "#{name}: needs a block" if block.nil?

        (@blocks ||= {})[name] = block
        nil
      end

      def check_definition
        raise InvalidRequest, "Trunkline::Bulk is to be inherited from: class Refresh < Trunkline::Bulk" if equal?(Bulk)

        missing = %i[source request result].reject { |name| block(name) }
        return if missing.empty?

        raise InvalidRequest, "#{self} has no #{missing.join(", no ")}: give each a block, as " \
                              "#{missing.first} { ... } in the class"
      end
    end
  end
end
