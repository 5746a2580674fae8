# frozen_string_literal: true

require_relative "../engine"
require_relative "../instrument"
require_relative "call"
require_relative "place"
require_relative "transaction"

module Trunkline
  module Insight
    # Calls of other libraries. One library may make its calls by another that is watched as well (Faraday by Net::HTTP,
    # Net::HTTP by Trunkline): the innermost tells of a call, those above it do not.
    #
    # @api private
    module Outgoing
      KEY = :trunkline_insight_told
      private_constant :KEY

      class << self
        # Runs a call, and adds it to the collector of this fiber unless a library below has told of it.
        # @param facts [#call] given the result, or nil, gives members of a Call
        # @return [Object] the block's value
        def watch(facts, began: Engine.now)
          collector = Insight.current or return yield

          before = told
          begin
            result = yield
          rescue StandardError => error
            raise
          ensure
            add(collector, facts, began, result, error) if told == before
          end
        end

        # Says that a call of this fiber was told of.
        # @return [void]
        def tell
          Thread.current[KEY] = told + 1
        end

        # @return [Integer] calls of this fiber that were told of
        def told = Thread.current[KEY] || 0

        private

        def add(collector, facts, began, result, error)
          ended = Engine.now
          tell
          Instrument.guard(collector) do
            collector.add(Call.new(began: began, ended: ended, error: error&.class&.name, place: Place.here,
                                   transaction: Transaction.open?, **facts.call(result)))
          end
        end
      end
    end
  end
end
