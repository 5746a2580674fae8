# frozen_string_literal: true

require_relative "settings"

module Trunkline
  class Bulk
    # What a bulk class says of itself. Subclasses have their parent's, as far as they say nothing else.
    module Definition
      # @yieldreturn [Enumerable, ActiveRecord::Relation, Pathname] the items. A Pathname: the rows of a .csv, the
      #   values of a .jsonl or .ndjson, the lines of any other file
      # @return [nil]
      def source(&block) = define(:source, block)

      # @yield [item] once for each try
      # @yieldreturn [String, Array, Hash] the request, in a form of Client#each; nil: the item needs none
      # @return [nil]
      def request(&block) = define(:request, block)

      # @yield [item, result, key] the Response, or the Error; key: the same String at each try of this item, and no
      #   other item's. After a process was killed, an item may come a second time
      # @return [nil]
      def result(&block) = define(:result, block)

      # @yield before it is recorded, several times a second, which items are over: for a result block that collects
      #   what it writes. When it raises, the run ends, and these items come again
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

      # @param name [Symbol] :source, :request, :result, :flush; :refused, with an item, what is wrong, and its key: of
      #   one that has failed without a request
      # @return [Proc, nil]
      # @api private
      def block(name)
        own = @blocks&.fetch(name, nil)
        own || (superclass.respond_to?(:block) ? superclass.block(name) : nil)
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
