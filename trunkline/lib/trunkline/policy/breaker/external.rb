# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../interrupts"
require_relative "outcome"

module Trunkline
  module Policy
    class Breaker
      # A circuit that another gem manages instead of Circuit. A subclass implements #guard and #to_h. A failure of that
      # gem, such as an unreachable store, does not fail the call: the first one is logged to Trunkline.logger, and the
      # call continues without a breaker.
      class External
        # @param label [String] "host:port"
        def initialize(label)
          @label = label
          @failure_logged = false
        end

        # See Circuit#run. Changes of state are reported by the other gem only.
        def run(_call, _request, &send)
          ended = nil
          trouble = trouble_of { ended = attempt(&send) }
          log_failure(trouble) if trouble
          result, error = ended || attempt(&send)
          error ? raise(error) : result
        end

        private

        # Calls the block through the other gem's circuit, and raises the exception of the block.
        # @raise [Refused] when the block is not called
        def guard = raise(NotImplementedError)

        # @yieldreturn [Array(Object, StandardError)] the result of the request, and the error it raised
        # @return [StandardError, nil] the failure of the other gem
        # @raise [Refused]
        def trouble_of
          error = nil
          catch do |uncounted|
            guard do
              result, error = yield
              # An error that is not a failure of the origin leaves by throw, which gems count neither as a failure nor
              # as a success.
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

        def log_failure(trouble)
          return if @failure_logged

          @failure_logged = true
          Trunkline.logger.warn("Trunkline: the breaker of #{@label} is not in use: #{self.class} failed with " \
                                "#{trouble.class}: #{trouble.message}")
        end
      end
    end
  end
end
