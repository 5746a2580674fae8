# frozen_string_literal: true

require_relative "../arguments"
require_relative "../errors"
require_relative "../options/checks"

module Trunkline
  class Future
    # Futures of several futures. What becomes of the others when one decides is told by cancel: they go on, or they are
    # cancelled. Future#cancel of a group cancels no member.
    module Groups
      # What a group's block returns while its value is not known.
      OPEN = Object.new.freeze
      TAKES = "futures and cancel: true or false; how long to wait is said to what it gives: .value(5)"
      private_constant :OPEN, :TAKES

      # @param futures [Array<Future>]
      # @param cancel [Boolean] whether the first error cancels the others
      # @return [Future] of an Array of their values in the order given; or of the first error
      # @raise [InvalidRequest]
      def all(*futures, cancel: false, **others)
        Arguments.refuse_keywords(others, "all", TAKES)
        group(futures.flatten, cancel, several: true) do |whole, values, value|
          next value if value.is_a?(Exception)

          values == whole.size ? whole.map(&:value) : OPEN
        end
      end

      # @param futures [Array<Future>] at least one
      # @param cancel [Boolean] whether the first response cancels the others
      # @return [Future] of the first value that is no error; when all are errors, of the last of these
      # @raise [InvalidRequest]
      def any(*futures, cancel: false, **others)
        Arguments.refuse_keywords(others, "any", TAKES)
        group(some("any", futures), cancel) do |whole, values, value|
          !value.is_a?(Exception) || values == whole.size ? value : OPEN
        end
      end

      # @param futures [Array<Future>] at least one
      # @param cancel [Boolean] whether the first to end cancels the others
      # @return [Future] of the first value, also when it is an error
      # @raise [InvalidRequest]
      def race(*futures, cancel: false, **others)
        Arguments.refuse_keywords(others, "race", TAKES)
        group(some("race", futures), cancel) { |_whole, _values, value| value }
      end

      private

      def some(name, futures)
        futures.flatten.tap { |list| raise InvalidRequest, "#{name}: needs at least one future" if list.empty? }
      end

      # @yield [futures, ended, value] after each that ended
      # @yieldreturn [Object] the group's value, or OPEN
      def group(futures, cancel, several: false)
        cancel = Options::Checks.boolean(:cancel, cancel)
        wrong = futures.find { |one| !one.is_a?(Future) }
        raise InvalidRequest.of("futures", wrong, "Futures, or an Array of them") if wrong

        decided = Future.new(several: several)
        decided.settle([]) if futures.empty?
        ended = 0
        lock = Mutex.new
        futures.each do |future|
          future.on_ready do |value|
            result = yield(futures, lock.synchronize { ended += 1 }, value)
            futures.each(&:cancel) if !result.equal?(OPEN) && decided.settle(result) && cancel
          end
        end
        decided
      end
    end
  end
end
