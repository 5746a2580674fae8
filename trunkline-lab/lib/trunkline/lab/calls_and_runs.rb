# frozen_string_literal: true

module Trunkline
  module Lab
    # The command line of experiments that make some calls, some times over: [CALLS] [RUNS].
    module CallsAndRuns
      private

      def arguments(rest)
        raise Stop.new("give CALLS and RUNS, two numbers", USAGE) unless rest.size <= 2 && rest.all?(/\A[1-9]\d*\z/)

        numbers = rest.map(&:to_i)
        @calls = numbers[0] || @calls
        @runs = numbers[1] || @runs
      end
    end
  end
end
