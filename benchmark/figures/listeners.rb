# frozen_string_literal: true

module Bench
  module Figures
    # The cost of support for listeners: CPU and objects of a GET in a process that never had a listener, after one was
    # removed, and with one. All three use the same build: the first two show whether a removed listener still costs
    # something, the third what a call without listeners saves.
    class Listeners
      CALLS = 100 # per turn: the shorter a turn, the likelier is one without disturbance by other programs
      TURNS = 45  # per state of the process
      UNITS = ["us of CPU", "objects"].freeze
      AFTER = "after Trunkline.on and off, beyond a process without"
      DURING = "with a listener of :call, beyond a process without"

      def title = "What a listener costs a GET, distinct URLs"

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

      # @param bars [Array<Numeric>] one for each of UNITS
      def add(suite, samples, state, what, bars: [])
        UNITS.each_with_index do |unit, kind|
          more = samples.map { |sample| sample[state][kind] - sample[:never][kind] }
          suite.add_cost(title, more, "#{unit}, #{what}", unit, bar: bars[kind])
        end
      end
    end
  end
end
