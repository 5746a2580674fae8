# frozen_string_literal: true

require_relative "../trunkline"

module Bench
  module Peers
    # Trunkline at another commit (support/earlier.rb).
    class TrunklineBefore < Trunkline
      # Empty: this peer must not load the Trunkline of this checkout.
      def self.local_gems = []

      # @param library [String] the folder to require Trunkline from
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
