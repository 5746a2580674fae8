# frozen_string_literal: true

require_relative "call_kinds"
require_relative "limits"
require_relative "repeats"

module Trunkline
  module Lab
    # The command line of experiments that make CALLS calls in each of RUNS runs, by every client unless --client says
    # otherwise.
    module CallsAndRuns
      include CallKinds
      include Repeats

      private

      def options(parser)
        kinds_option(parser)
        peer_choice(parser)
        limit_choice(parser, Limits::BareCurl)
        time_option(parser)
      end

      def arguments(rest)
        raise Stop.new("give CALLS and RUNS, two numbers", USAGE) unless rest.size <= 2 && rest.all?(/\A[1-9]\d*\z/)

        numbers = rest.map(&:to_i)
        @calls = numbers[0] || @calls
        @runs = numbers[1] || @runs
      end
    end
  end
end
