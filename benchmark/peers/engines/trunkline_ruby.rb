# frozen_string_literal: true

require_relative "../trunkline"

module Bench
  module Peers
    # The same client with its engine in Ruby.
    class TrunklineRuby < Trunkline
      label "Trunkline, engine in Ruby"

      private

      # The worker process of a peer loads the library here first, so the variable takes effect.
      def open
        ENV["TRUNKLINE_ENGINE"] = "ruby"
        super.tap { raise "the engine is #{::Trunkline::ENGINE}" unless ::Trunkline::ENGINE == :ruby }
      end
    end
  end
end
