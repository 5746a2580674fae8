# frozen_string_literal: true

module Bench
  module Figures
    # What it costs that listeners could be there: CPU and objects of a GET in a process that never had one, after one
    # was taken off again, and with one. The same build, so the first two tell whether anything is left behind, and the
    # third what the plain path is spared.
    class Listeners
      CALLS = 100 # in one turn: the shorter, the likelier is one that nobody disturbs
      TURNS = 45  # of each
      UNITS = ["us of CPU", "objects"].freeze
      AFTER = "after Trunkline.on and off, beyond a process without"
      DURING = "with a listener of :call, beyond a process without"

      def title = "What a listener costs a GET"

      def call(suite)
        samples = suite.repeat do
          suite.with_ours(base: suite.origin.plain) do |ours|
            ours.ask(:listeners, path: Origin::SMALL, count: CALLS, turns: TURNS)
          end
        end
        add(suite, samples, :off, AFTER, bars: [1.0, 0])
        add(suite, samples, :on, DURING)
      end

      private

      # @param bars [Array<Numeric>] of UNITS
      def add(suite, samples, state, what, bars: [])
        UNITS.each_with_index do |unit, kind|
          more = samples.map { |sample| sample[state][kind] - sample[:never][kind] }
          suite.add_cost(title, more, "#{unit}, #{what}", unit, bar: bars[kind])
        end
      end
    end
  end
end
