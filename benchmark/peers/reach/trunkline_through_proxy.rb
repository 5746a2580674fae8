# frozen_string_literal: true

require_relative "../trunkline"

module Bench
  module Peers
    class TrunklineThroughProxy < Trunkline
      label "Trunkline"

      # @param proxy [String] its URL
      def initialize(proxy:, **options)
        super(**options)
        @proxy = proxy
      end

      private

      def options = super.merge(proxy: @proxy)
    end
  end
end
