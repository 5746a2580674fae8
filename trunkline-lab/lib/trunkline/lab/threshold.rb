# frozen_string_literal: true

module Trunkline
  module Lab
    # A limit that the user sets for a result of load, such as "p99>50ms" or "errors>1%"; a run beyond it fails.
    class Threshold
      FORM = %r{\A\s*(p\d+(?:\.\d+)?|mean|max|requests/s|errors|cpu)\s*
                ([<>]=?)\s*(\d+(?:\.\d+)?)\s*(us|ms|s|%)?\s*\z}x
      SECONDS = { "us" => 1, "ms" => 1_000, "s" => 1_000_000 }.freeze
      HELP = "p50 ... p99.9, mean, max and cpu (a call's) with us, ms or s; requests/s; errors, a number or with %"

      # @param text [String]
      # @raise [OptionParser::InvalidArgument]
      def initialize(text)
        @text = text.strip
        @what, @comparison, number, @unit = text.match(FORM)&.captures
        share = @what.to_s[/\Ap(.*)/, 1].to_f
        raise OptionParser::InvalidArgument, "#{text.inspect}: give #{HELP}" unless unit_fits? && share <= 100

        @bound = number.to_f * SECONDS.fetch(@unit, 1)
      end

      # @param run [Hash] latency (Histogram), requests, errors, wall and cpu (seconds)
      # @return [String, nil] a sentence, if the run is beyond the limit
      def crossed(run)
        found = value(run)
        return "--fail-if #{@text}: nothing was measured." if found.nil?

        "--fail-if #{@text}: it is #{shown(found)}." if found.public_send(@comparison, @bound)
      end

      # Whether the threshold limits the number of failed calls.
      def errors? = @what == "errors"

      private

      def unit_fits?
        case @what
        when nil then false
        when "requests/s" then @unit.nil?
        when "errors" then [nil, "%"].include?(@unit)
        else SECONDS.key?(@unit)
        end
      end

      # @return [Numeric, nil] microseconds for a time; nil when nothing was measured
      def value(run)
        case @what
        when "requests/s" then run[:requests] / run[:wall]
        when "errors" then errors(run)
        when "cpu" then run[:cpu] * 1e6 / run[:requests] if run[:requests].positive?
        else latency(run[:latency])
        end
      end

      def errors(run)
        return run[:errors] unless @unit

        run[:errors] * 100.0 / run[:requests] if run[:requests].positive?
      end

      def latency(histogram)
        return if histogram.empty?
        return histogram.public_send(@what) unless @what.start_with?("p")

        histogram.percentile(@what.delete_prefix("p").to_f)
      end

      def shown(found)
        number = (found / SECONDS.fetch(@unit, 1).to_f).round(3)
        "#{number == number.to_i ? number.to_i : number}#{" " if @unit}#{@unit}"
      end
    end
  end
end
