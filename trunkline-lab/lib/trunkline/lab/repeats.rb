# frozen_string_literal: true

require_relative "rounds"

module Trunkline
  module Lab
    # For commands that measure in several rounds, and in fewer when --within limits their time.
    module Repeats
      private

      def time_option(parser)
        parser.on("--within SECONDS", Float, "about so long: fewer rounds when they would take longer, but no fewer",
                  "than #{Rounds::LEAST}") do |seconds|
          raise OptionParser::InvalidArgument, "#{seconds}: give seconds, 0 or more" if seconds.negative?

          @seconds_for_all = seconds
        end
      end

      # @param rest [Array<String>] what is no option: CALLS and RUNS, or one of them, or none
      # @raise [Stop]
      def calls_and_runs(rest)
        raise Stop.new("give CALLS and RUNS, two numbers", USAGE) unless rest.size <= 2 && rest.all?(/\A[1-9]\d*\z/)

        numbers = rest.map(&:to_i)
        @calls = numbers[0] || @calls
        @runs = numbers[1] || @runs
      end

      # @param wanted [Integer]
      # @param share [Float] of the time that is left
      # @return [Rounds] kept for #samples
      def rounds(wanted, share: 1.0)
        left = @seconds_for_all && (@started + @seconds_for_all - Clock.now)
        rounds = Rounds.new(wanted, deadline: left && (Clock.now + (left * share)))
        (@rounds ||= []) << rounds
        rounds
      end

      # What the first rounds gave, by label or by a list that begins with it; without those that failed later.
      def samples
        taken = @rounds ? @rounds.first.samples : {}
        taken.reject { |key, _| @result.missing.key?(Array(key).first) }
      end

      # How often each was measured.
      def runs = samples.each_value.map(&:size).max

      def cuts = @rounds.to_a.filter_map(&:cut).uniq
    end
  end
end
