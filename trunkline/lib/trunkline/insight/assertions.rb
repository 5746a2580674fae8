# frozen_string_literal: true

module Trunkline
  module Insight
    # For tests with minitest:
    #
    #   class OrdersTest < Minitest::Test
    #     include Trunkline::Insight::Assertions
    #
    #     def test_index
    #       assert_no_http_n_plus_one { get "/orders" }
    #     end
    #   end
    #
    # Stubbed calls count, too.
    module Assertions
      # Fails when the block makes calls of the same shape one after another, or requests the same URL again.
      #
      # @param message [String, nil] for the failure
      # @param min [Integer] number of calls of one shape that make a loop; 2 when a test has two records
      # @yield
      # @return [true]
      # @raise [Minitest::Assertion] naming the lines in the caller's code
      def assert_no_http_n_plus_one(message = nil, min: LOOP, &block)
        found = Insight.watch(nil, min: min, &block).n_plus_one
        assert(found.empty?, lambda do
          [message, "Expected no HTTP N+1:", *found.map { |one| "#{one}\n  #{one.advice}" }].compact.join("\n")
        end)
      end
    end
  end
end
