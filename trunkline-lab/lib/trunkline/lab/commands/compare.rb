# frozen_string_literal: true

module Trunkline
  module Lab
    module Commands
      # Compares two results of the same command, and says whether the second one is better.
      class Compare < Command
        summary "compares two results of one command: faster, slower, or no difference"
        usage "A.json B.json"
        timed false

        ALPHA = 0.05

        private

        def options(parser)
          parser.on("--fail-if-worse", "exit with #{CROSSED} when a figure of B is slower or worse") { @strict = true }
        end

        def arguments(rest)
          raise Stop.new("give two files, written by --json", USAGE) unless rest.size == 2

          @files_compared = rest
          @before, @after = rest.map { |file| Result.read(file) }
          return if @before[:command] == @after[:command]

          raise Stop.new("#{rest.first} is of #{@before[:command]}, #{rest.last} of #{@after[:command]}", USAGE)
        end

        def title = "#{@files_compared.last} against #{@files_compared.first}"

        def measure = nil

        def conclude
          pairs = shared
          raise Stop, "the two results have no figure in common" if pairs.empty?

          compared = pairs.map { |before, after| compare(before, after) }
          @result.table(nil, ["figure", "A", "B", "B / A", "95 % interval", "p", "verdict"], compared,
                        optional: ["B", "A", "95 % interval", "p"])
          noisy = [@before, @after].zip(@files_compared).reject { |result, _| result[:state] == "result" }
          noisy.each { |result, file| @result.say("#{file} is #{Result::STATES.fetch(result[:state])}.") }
          verdicts = compared.map(&:last)
          @result.say(summary(verdicts))
          @worse = verdicts.intersect?(%w[slower worse])
        end

        def shared
          others = @after[:figures].to_h { |figure| [figure[:name], figure] }
          @before[:figures].filter_map do |figure|
            other = others[figure[:name]]
            [figure, other] if other && [figure, other].none? { |one| one[:samples].include?(nil) || one[:value].zero? }
          end
        end

        def compare(before, after)
          samples = [after, before].map { |figure| figure[:samples] }
          low, high = Statistics.ratio_interval(*samples)
          likely = Statistics.mann_whitney(*samples)
          outcome = verdict(before, low, high, likely, samples)
          ratio = after[:value] / before[:value].to_f
          @result.data[before[:name]] = { ratio: Result.short(ratio), p: Result.short(likely), verdict: outcome,
                                          interval: [low, high].map { |edge| Result.short(edge) } }
          [before[:name], *[before, after].map { |figure| "#{figure[:value]} #{figure[:unit]}" }, ratio.round(3),
           [low, high].map { |edge| edge.round(3) }.join(" to "), chance(likely), outcome]
        end

        # The probability of such a difference by chance alone.
        def chance(likely) = likely < 0.001 ? "< 0.001" : likely.round(3)

        # A difference needs both tests: the interval excludes 1, and the rank test is significant.
        def verdict(figure, low, high, likely, samples)
          return "too few samples" if samples.any? { |side| side.size < 4 }
          return "no difference" if likely > ALPHA || low.nan? || (low..high).cover?(1.0)

          (low > 1) == (figure[:better] == "higher") ? better(figure) : worse(figure)
        end

        def better(figure) = figure[:unit].include?("/s") ? "faster" : "better"
        def worse(figure) = figure[:unit].include?("/s") ? "slower" : "worse"

        def status = @strict && @worse ? CROSSED : super

        def summary(verdicts)
          counts = verdicts.tally.map { |verdict, count| "#{count} #{verdict}" }.join(", ")
          "Of #{verdicts.size} figures: #{counts}."
        end
      end
    end
  end
end
