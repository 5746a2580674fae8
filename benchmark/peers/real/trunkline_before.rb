# frozen_string_literal: true

require_relative "../trunkline"

module Bench
  module Peers
    # Trunkline as it was at another commit (support/earlier.rb).
    class TrunklineBefore < Trunkline
      # Not the one that is loaded here.
      def self.ours = []

      # @param library [String] the folder to require it from
      def initialize(library:, **options)
        super(**options)
        @library = library
      end

      private

      def open
        $LOAD_PATH.unshift(@library) unless $LOAD_PATH.include?(@library)
        super
      end
    end
  end
end
