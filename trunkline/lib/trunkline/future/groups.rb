# frozen_string_literal: true

require_relative "../arguments"
require_relative "../errors"
require_relative "../options/checks"

module Trunkline
  class Future
    # Futures that combine several futures. When the group has its value, cancel: true cancels the other futures;
    # otherwise they continue. Future#cancel on a group does not cancel its members.
    module Groups
      # Returned by a group's block while the group's value is not known.
      OPEN = Object.new.freeze
      TAKES = "futures and cancel: true or false; how long to wait is said to what it gives: .value(5)"
      private_constant :OPEN, :TAKES

      # @param futures [Array<Future>]
      # @param cancel [Boolean] whether the first error cancels the others
      # @return [Future] whose value is an Array of their values in the order given, or the first error
      # @raise [InvalidRequest]
      def all(*futures, cancel: false, **others)
        Arguments.refuse_keywords(others, "all", TAKES)
        group(futures.flatten, cancel, combined: true) do |members, values, value|
          next value if value.is_a?(Exception)

          values == members.size ? members.map(&:value) : OPEN
        end
      end

      # @param futures [Array<Future>] at least one
      # @param cancel [Boolean] whether the first response cancels the others
      # @return [Future] whose value is the first one that is no error; if all are errors, the last error
      # @raise [InvalidRequest]
      def any(*futures, cancel: false, **others)
        Arguments.refuse_keywords(others, "any", TAKES)
        group(at_least_one("any", futures), cancel) do |members, values, value|
          !value.is_a?(Exception) || values == members.size ? value : OPEN
        end
      end

      # @param futures [Array<Future>] at least one
      # @param cancel [Boolean] whether the first future to end cancels the others
      # @return [Future] whose value is the first one, even if it is an error
      # @raise [InvalidRequest]
      def race(*futures, cancel: false, **others)
        Arguments.refuse_keywords(others, "race", TAKES)
        group(at_least_one("race", futures), cancel) { |_members, _values, value| value }
      end

      private

      def at_least_one(name, futures)
        futures.flatten.tap { |list| raise InvalidRequest, "#{name}: needs at least one future" if list.empty? }
      end

      # @yield [futures, ended, value] when a future ends; `ended` is the number of ended futures
      # @yieldreturn [Object] the group's value, or OPEN
      def group(futures, cancel, combined: false)
        cancel = Options::Checks.boolean(:cancel, cancel)
        wrong = futures.find { |one| !one.is_a?(Future) }
        raise InvalidRequest.of("futures", wrong, "Futures, or an Array of them") if wrong

        group = Future.new(combined: combined)
        group.settle([]) if futures.empty?
        ended = 0
        lock = Mutex.new
        futures.each do |future|
          future.on_ready do |value|
            result = yield(futures, lock.synchronize { ended += 1 }, value)
            futures.each(&:cancel) if !result.equal?(OPEN) && group.settle(result) && cancel
          end
        end
        group
      end
    end
  end
end
