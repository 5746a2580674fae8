# frozen_string_literal: true

module Trunkline
  module Insight
    # For tests with RSpec. Included automatically when RSpec was loaded before "trunkline/insight"; otherwise:
    #
    #   RSpec.configure { |config| config.include Trunkline::Insight::Matchers }
    #
    #   expect { get "/orders" }.not_to make_http_n_plus_one
    #
    # Stubbed calls count, too.
    module Matchers
      # Matches a block that makes calls of the same shape one after another, or requests the same URL again.
      #
      # @param min [Integer] number of calls of one shape that make a loop; 2 when a test has two records
      # @return [MakeHTTPNPlusOne]
      def make_http_n_plus_one(min: LOOP) = MakeHTTPNPlusOne.new(min)

      # The matcher, with the interface that RSpec expects.
      class MakeHTTPNPlusOne
        include Redacted

        # @api private
        def initialize(min)
          @min = min
        end

        # @param block [Proc]
        def matches?(block)
          @report = Insight.watch(nil, min: @min, &block)
          !@report.n_plus_one.empty?
        end

        def supports_block_expectations? = true

        def supports_value_expectations? = false

        def description = "make HTTP calls one after another that could be one"

        def failure_message = "expected an HTTP N+1, but there were #{@report.summary}"

        def failure_message_when_negated
          ["expected no HTTP N+1:", *@report.n_plus_one.map { |one| "#{one}\n  #{one.advice}" }].join("\n")
        end
      end
    end
  end
end
