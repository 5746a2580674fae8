# frozen_string_literal: true

require_relative "../engine"
require_relative "../instrument"
require_relative "call"
require_relative "call_site"
require_relative "transaction"

module Trunkline
  module Insight
    # Reports calls of other libraries. A library may make its calls through another one that is watched as well
    # (Faraday through Net::HTTP, Net::HTTP through Trunkline): only the innermost library reports a call.
    #
    # @api private
    module Outgoing
      KEY = :trunkline_insight_reported
      private_constant :KEY

      class << self
        # Runs a call, and adds it to the collector of this fiber unless an inner library has reported it.
        # @param facts [#call] takes the result, or nil, and returns members of a Call
        # @return [Object] the block's value
        def watch(facts, began: Engine.now)
          collector = Insight.current or return yield

          before = reported
          begin
            result = yield
          rescue StandardError => error
            raise
          ensure
            add(collector, facts, began, result, error) if reported == before
          end
        end

        # Counts a call of this fiber as reported.
        # @return [void]
        def count_reported
          Thread.current[KEY] = reported + 1
        end

        # @return [Integer] number of reported calls of this fiber
        def reported = Thread.current[KEY] || 0

        private

        def add(collector, facts, began, result, error)
          ended = Engine.now
          count_reported
          Instrument.guard(collector) do
            collector.add(Call.new(began: began, ended: ended, error: error&.class&.name, place: CallSite.here,
                                   transaction: Transaction.open?, **facts.call(result)))
          end
        end
      end
    end
  end
end
