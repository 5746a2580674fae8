# frozen_string_literal: true

require_relative "call_kinds"
require_relative "limits"
require_relative "repeats"

module Trunkline
  module Lab
    # Command-line handling for experiments that make CALLS calls in each of RUNS runs, with every client unless
    # --client selects some.
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

      def arguments(rest) = calls_and_runs(rest)
    end
  end
end
