# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../interrupts"
require_relative "outcome"

module Trunkline
  module Policy
    class Breaker
      # A circuit that another gem keeps, in the place of Circuit. A subclass has #guard and #to_h. What fails in that
      # gem, as a store that cannot be reached, fails no call: it is told to Trunkline.logger once, and the call goes on
      # without a breaker.
      class External
        # @param label [String] "host:port"
        def initialize(label)
          @label = label
          @told = false
        end

        # As Circuit#run. Of changes of the state, the other gem tells.
        def run(_call, _request, &send)
          ended = nil
          trouble = trouble_of { ended = attempt(&send) }
          tell(trouble) if trouble
          result, error = ended || attempt(&send)
          error ? raise(error) : result
        end

        private

        # Calls the block as the other gem has it, and raises what it raises.
        # @raise [Refused] without a call of the block
        def guard = raise(NotImplementedError)

        # @yieldreturn [Array(Object, StandardError)] the result of the request, and what it raised
        # @return [StandardError, nil] what failed in the other gem
        # @raise [Refused]
        def trouble_of
          error = nil
          catch do |uncounted|
            guard do
              result, error = yield
              # What says nothing about the origin leaves by throw: no gem counts that, as a failure or as a success.
              throw uncounted unless error.nil? || error.is_a?(Failed)

              error ? raise(error) : result
            end
          end
          nil
        rescue Refused
          raise
        rescue StandardError => trouble
          raise if Interrupts.ended_by?(trouble)

          trouble unless trouble.equal?(error)
        end

        def attempt
          [yield, nil]
        rescue StandardError => error
          [nil, error]
        end

        def tell(trouble)
          return if @told

          @told = true
          Trunkline.logger.warn("Trunkline: the breaker of #{@label} is not in use: #{self.class} failed with " \
                                "#{trouble.class}: #{trouble.message}")
        end
      end
    end
  end
end
