# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/budget"
require "trunkline/lab/rounds"

module Trunkline
  module Lab
    # The number of rounds when time is short, with a clock that the test controls.
    class TestRounds < Minitest::Test
      def setup = @now = 100.0

      # @param seconds [Float] duration of each round
      # @param budget [Float, nil] seconds for all rounds
      def rounds(wanted, seconds:, budget:)
        Rounds.new(wanted, deadline: budget && (@now + budget), clock: -> { @now }).tap do |rounds|
          rounds.each { @now += seconds }
        end
      end

      def test_measures_all_requested_rounds_when_there_is_time
        [nil, 10.0].each do |budget|
          rounds = rounds(7, seconds: 1.0, budget: budget)

          assert_equal 7, rounds.done
          assert_nil rounds.cut
        end
      end

      def test_measures_fewer_rounds_when_time_is_short_and_reports_it
        rounds = rounds(7, seconds: 2.0, budget: 9.0)

        assert_equal 4, rounds.done
        assert_equal "To keep within the time, 4 rounds were measured instead of 7.", rounds.cut
      end

      def test_measures_at_least_three_rounds
        assert_equal 3, rounds(7, seconds: 60.0, budget: 1.0).done
        assert_equal 3, rounds(7, seconds: 60.0, budget: -5.0).done
      end

      def test_fewer_rounds_than_the_minimum_can_be_requested
        rounds = rounds(2, seconds: 60.0, budget: 1.0)

        assert_equal 2, rounds.done
        assert_nil rounds.cut
      end

      def test_a_turn_that_fails_or_is_interrupted_leaves_no_sample
        rounds = Rounds.new(2)
        turn = ->(error) { raise error }
        [Interrupt, PeerProcess::Failed].each do |error|
          assert_raises(error) { rounds.take("client") { turn.call(error) } }
        end

        assert_empty rounds.samples
        assert_nil rounds.cut
        rounds.take("client") { 5 }

        assert_equal({ "client" => [5] }, rounds.samples)
      end

      def budget = Budget.new(60.0, { "a" => 1, "b" => 2, "c" => 3 }, clock: -> { @now })

      def test_a_budget_is_divided_by_weight
        budget = budget()

        assert_in_delta 10.0, budget.share("a")
        @now += 10.0

        assert_in_delta 20.0, budget.share("b")
        @now += 20.0

        assert_in_delta 30.0, budget.share("c")
      end

      def test_time_that_one_part_saves_or_overdraws_is_shared_by_the_following_parts
        budget = budget()
        @now += 5.0

        assert_in_delta 22.0, budget.share("b")
        @now += 40.0

        assert_in_delta 15.0, budget.share("c")
        @now += 60.0

        assert_in_delta 0.0, budget.share("c")
      end

      # Every experiment has a weight, and every one that repeats can be made to repeat less.
      def test_the_tour_gives_each_experiment_its_share
        CLI.command("tour")

        assert_equal Commands::Tour::STEPS.keys, Commands::Tour::WEIGHTS.keys
        repeating = Commands::Tour::STEPS.keys.select { |name| CLI.command(name) < Repeats }

        assert_equal %w[keepalive chatty xml clients sweep storm tail gvl tokens nplus1], repeating
      end
    end
  end
end
