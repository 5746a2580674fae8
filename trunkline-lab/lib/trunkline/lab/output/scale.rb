# frozen_string_literal: true

module Trunkline
  module Lab
    module Output
      # One axis: the position of a value between its ends, and its ticks. Values whose ratio is above WIDE are shown on
      # a logarithmic scale, so that the smaller ones can be distinguished.
      class Scale
        WIDE = 10.0
        STEPS = [1, 2, 5].freeze

        # @param values [Array<Numeric>] values to show
        # @param zero [Boolean] whether a linear scale begins at 0
        # @param wide [Float] ratio of the largest to the smallest value from which on the scale is logarithmic
        def initialize(values, zero: true, wide: WIDE)
          positive = values.select(&:positive?)
          @log = positive.any? && positive.max / positive.min.to_f > wide
          @low, @high = @log ? [step_below(positive.min), step_above(positive.max)] : linear(values, zero)
        end

        def log? = @log

        # @return [Float] 0.0 at the low end, 1.0 at the high one
        def share(value)
          return (value - @low) / (@high - @low).to_f unless @log

          Math.log([value, @low].max / @low) / Math.log(@high / @low)
        end

        # @return [Array<Numeric>]
        def ticks
          return (0..4).map { |step| @low + ((@high - @low) * step / 4.0) } unless @log

          all = steps.grep((@low * 0.999)..(@high * 1.001))
          all.size > 9 ? all.select { |step| power?(step) } : all
        end

        private

        def linear(values, zero)
          return [0.0, step_above([values.max.to_f, 0].max)] if zero

          values.minmax.then { |low, high| low == high ? [low - 1.0, high + 1.0] : [low.to_f, high.to_f] }
        end

        def steps
          powers = (Math.log10(@low).floor..Math.log10(@high).ceil).map { |power| 10.0**power }
          powers.flat_map { |power| STEPS.map { |step| step * power } }
        end

        def power?(step) = (Math.log10(step) % 1).then { |rest| [rest, 1 - rest].min < 1e-6 }

        def step_below(number) = around(number).reverse.find { |step| step <= number * 1.000001 }

        def step_above(number) = number.positive? ? around(number).find { |step| step >= number * 0.999999 } : 1.0

        def around(number)
          power = Math.log10(number).floor
          [1, 1.5, 2, 3, 4, 5, 6, 8, 10].then { |all| @log ? [*STEPS, 10] : all }.map { |step| step * (10.0**power) }
        end
      end
    end
  end
end
