# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/simulation/storm"
require "trunkline/lab/simulation/tail"

module Trunkline
  module Lab
    class TestSimulation < Minitest::Test
      # Runs the block in a fiber of a simulation, until the simulation ends.
      def simulate(seed = 1, &block)
        simulation = Simulation.new(seed)
        simulation.after(0) { Fiber.new { block.call(simulation) }.resume }
        simulation.run
      end

      def test_events_are_ordered_by_time_and_then_by_insertion
        random = Random.new(1)
        times = Array.new(200) { random.rand(20) }
        seen = []
        simulation = Simulation.new(1)
        times.each_with_index { |time, number| simulation.after(time) { seen << [simulation.now, number] } }
        simulation.run

        assert_equal times.each_with_index.sort, seen
      end

      def test_a_wait_returns_its_result_or_ends_at_its_timeout
        seen = []
        simulate do |simulation|
          seen << [simulation.wait(5) { |waiter| simulation.after(2) { waiter.finish(:response) } }, simulation.now]
          seen << [simulation.wait(5) { |waiter| simulation.after(9) { waiter.finish(:late) } }, simulation.now]
          seen << [simulation.wait(nil) { |waiter| waiter.finish(:at_once) }, simulation.now]
        end

        assert_equal [[:response, 2.0], [nil, 7.0], [:at_once, 7.0]], seen
      end

      def test_arrivals_have_the_requested_rate
        count = 0
        Simulation.new(1).tap { |simulation| simulation.arrivals(100, 50) { count += 1 } }.run

        assert_in_delta 5_000, count, 300
      end

      # One worker that takes a second per request, and room for one waiting request.
      def test_a_server_refuses_requests_beyond_its_queue_and_processes_abandoned_requests
        simulation = Simulation.new(1)
        server = Simulation::Server.new(simulation, workers: 1, queue: 1) { 1.0 }
        seen = Array.new(3) { nil }
        [0.5, nil, nil].each_with_index do |patience, number|
          Fiber.new { seen[number] = [simulation.wait(patience) { |one| server.serve(one) }, simulation.now] }.resume
        end
        simulation.run

        assert_equal [[nil, 0.5], [200, 2.0], [503, 0.0]], seen
        assert_equal [0.0, 0.0, 0.0], server.arrivals
      end

      def test_a_call_without_a_response_in_time_raises_the_timeout_of_the_client
        error = nil
        simulate do |simulation|
          server = Simulation::Server.new(simulation, workers: 1) { 9.0 }
          call = Simulation::Call.new(simulation, server, timeout: 1.0)
          error = assert_raises(Trunkline::FirstByteTimeout) { call.perform(Simulation::Call.request, nil) }
        end

        assert_equal :all, error.sent
      end

      class << self
        # The tests share these runs.
        def storms = @storms ||= Simulation::Storm::WAYS.transform_values { |way| Simulation::Storm.run(way, 7) }
        def tails = @tails ||= Simulation::Tail::WAYS.transform_values { |way| Simulation::Tail.run(way, 7) }
      end

      def test_a_retry_storm_outlasts_its_cause_unless_there_is_a_budget
        none, unlimited, budget = self.class.storms.values

        assert_in_delta 1.0, none.per_call
        assert_nil unlimited.recovery
        assert_operator unlimited.per_call, :>, 2.0
        assert_operator budget.per_call, :<=, 1.2
        assert_operator budget.recovery, :<, 20
        assert_operator none.recovery, :<, 20
        assert_operator budget.answered, :>, unlimited.answered * 2
      end

      def test_hedging_shortens_the_tail_with_few_additional_requests
        none, _, hedged = self.class.tails.values

        assert_operator hedged.percentile(99), :<, none.percentile(99) / 2
        assert_in_delta none.percentile(50), hedged.percentile(50), 0.002
        assert_in_delta 0.0, none.extra
        assert_operator hedged.extra, :<=, 0.055
      end

      # When all responses are slow, the server cannot bear a second request for each.
      def test_the_budget_limits_hedging_when_all_responses_are_slow
        within = Simulation::Tail::TROUBLE
        none, unlimited, hedged = self.class.tails.values

        assert_operator unlimited.extra(within), :>, 0.5
        assert_operator unlimited.percentile(50, within), :>, none.percentile(50, within) * 4
        assert_operator hedged.extra(within), :<, 0.07
        assert_operator hedged.percentile(50, within), :<, none.percentile(50, within) * 2
      end

      def test_the_same_seed_gives_the_same_result
        { Simulation::Storm => self.class.storms, Simulation::Tail => self.class.tails }.each do |experiment, seen|
          assert_equal seen.values.last, experiment.run(true, 7)
          refute_equal seen.values.last, experiment.run(true, 8)
        end
      end
    end
  end
end
