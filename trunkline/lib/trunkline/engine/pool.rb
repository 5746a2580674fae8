# frozen_string_literal: true

require_relative "../errors"

module Trunkline
  module Engine
    # Reopened: connections belong to one process and its main Ractor.
    class Pool
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
