# frozen_string_literal: true

require_relative "../errors"

module Trunkline
  module Engine
    # Reopened: connections belong to one process and its main Ractor.
    class Pool
      # Those of the engine in C are known to ObjectSpace. A WeakMap of our own would not do: that of Ruby 3.1 crashes
      # the process some time after GC.compact, which servers call before they fork.
      #
      # @return [Array<Pool>] of the process
      unless respond_to?(:all)
        def self.all = ObjectSpace.each_object(self).to_a
      end

      # @return [String] what Ractor.make_shareable says of it
      def inspect
        "#<#{self.class}: connections, which belong to the main Ractor>"
      end
      alias to_s inspect

      # Ractor.new and Ractor#send copy a client with all that it has.
      # @raise [RactorError]
      def initialize_copy(_other)
        raise RactorError.made
      end
    end
  end
end
