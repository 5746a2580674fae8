# frozen_string_literal: true

require "digest"
require_relative "limits"
require_relative "origins/nginx"
require_relative "repeats"

module Trunkline
  module Lab
    # The command line of experiments that make some calls, some times over: [CALLS] [RUNS]; by every client unless
    # they say otherwise.
    module CallsAndRuns
      include Repeats

      # Of what the built-in server answers at Origins::SHORT.
      SHORT_DIGEST = Digest::SHA256.hexdigest(Origins::SHORT_BODY)

      private

      def options(parser)
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
