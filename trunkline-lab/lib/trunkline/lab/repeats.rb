# frozen_string_literal: true

require_relative "rounds"

module Trunkline
  module Lab
    # For commands that measure in several rounds, or in fewer rounds if --within limits their time.
    module Repeats
      private

      def time_option(parser)
        parser.on("--within SECONDS", Float, "run about as long, with fewer rounds if needed,",
                  "but with at least #{Rounds::LEAST}") do |seconds|
          raise OptionParser::InvalidArgument, "#{seconds}: give seconds, 0 or more" if seconds.negative?

          @seconds_for_all = seconds
        end
      end

      # @param rest [Array<String>] arguments that are not options: CALLS and RUNS, or one of them, or none
      # @raise [Stop]
      def calls_and_runs(rest)
        raise Stop.new("give CALLS and RUNS, two numbers", USAGE) unless rest.size <= 2 && rest.all?(/\A[1-9]\d*\z/)

        numbers = rest.map(&:to_i)
        @calls = numbers[0] || @calls
        @runs = numbers[1] || @runs
      end

      # @param wanted [Integer]
      # @param share [Float] share of the remaining time
      # @return [Rounds] stored for #samples
      def rounds(wanted, share: 1.0)
        left = @seconds_for_all && (@started + @seconds_for_all - Clock.now)
        rounds = Rounds.new(wanted, deadline: left && (Clock.now + (left * share)))
        (@rounds ||= []) << rounds
        rounds
      end

      # Samples of the first Rounds, by label or by an Array that begins with it; without labels that failed later.
      def samples
        taken = @rounds ? @rounds.first.samples : {}
        taken.reject { |key, _| @result.missing.key?(Array(key).first) }
      end

      # The number of samples of each.
      def runs = samples.each_value.map(&:size).max

      def cuts = @rounds.to_a.filter_map(&:cut).uniq
    end
  end
end
