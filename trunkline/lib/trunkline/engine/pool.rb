# frozen_string_literal: true

require_relative "../errors"

module Trunkline
  module Engine
    # Adds methods for both engines: connections belong to one process and its main Ractor.
    class Pool
      # The C engine's pools are found in ObjectSpace. A WeakMap does not work: Ruby 3.1's crashes the process some time
      # after GC.compact, which servers call before they fork.
      #
      # @return [Array<Pool>] the pools of the process
      unless respond_to?(:all)
        def self.all = ObjectSpace.each_object(self).to_a
      end

      # @return [String] part of the message of Ractor.make_shareable's error
      def inspect
        "#<#{self.class}: connections, which belong to the main Ractor>"
      end
      alias to_s inspect

      # Ractor.new and Ractor#send copy a client with all objects that it refers to.
      # @raise [RactorError]
      def initialize_copy(_other)
        raise RactorError.build
      end
    end
  end
end
