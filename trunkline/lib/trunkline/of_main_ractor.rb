# frozen_string_literal: true

require_relative "errors"
require_relative "redacted"

module Trunkline
  # For objects that lead to connections, and so belong to the main Ractor. Ractor.make_shareable freezes, and
  # Ractor#send with move: true moves, one object after another until they meet one that they refuse; the objects before
  # it could not be used any more. So these objects are refused before anything has changed.
  #
  # @api private
  module OfMainRactor
    # Ruby neither makes a Mutex shareable nor moves it. Objects have this one as their first instance variable, which
    # Ruby visits first.
    class Anchor < Thread::Mutex
      include Redacted

      # @return [String] part of the message of Ractor.make_shareable's error
      def inspect = "#<Trunkline: connections, which belong to the main Ractor>"

      # Ractor.new and Ractor#send copy an object with all objects that it refers to.
      # @raise [RactorError]
      def initialize_copy(_other)
        raise RactorError.build
      end
    end
    ANCHOR = Anchor.new
    private_constant :Anchor

    # A program may freeze these objects itself.
    if defined?(::Ractor)
      def freeze
        return super unless caller_locations(1, 1)&.first&.base_label == "make_shareable"

        raise ::Ractor::Error, "can not make shareable object for #{ANCHOR.inspect}"
      end
    end
  end
end
