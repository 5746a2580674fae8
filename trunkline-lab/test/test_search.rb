# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/search"

module Trunkline
  module Lab
    # The search run against services whose capacity is known.
    class TestSearch < Minitest::Test
      # A service with that many workers, each of which handles 50 requests a second, and room for that many waiting
      # requests; it refuses further calls.
      def service(workers:, room: Float::INFINITY, cpu: 0.1)
        lambda do |concurrency|
          busy = [concurrency, workers].min
          refused = concurrency > room ? 1000 : 0
          good = busy * 50
          Array.new(3) do
            { requests: good + refused, good: good, refused: refused, failed: 0, wall: 1.0, cpu: cpu,
              latency: 0.02 * [concurrency, workers].max / workers }
          end
        end
      end

      def search(most: 256, **capacity)
        Search.new(most: most, &service(**capacity)).tap(&:run)
      end

      def test_finds_the_capacity_and_names_the_server
        [1, 3, 8, 12, 50].each do |workers|
          found = search(workers: workers)

          assert_in_delta workers, found.answer.concurrency, [1, workers * 0.15].max, workers
          assert_equal :server, found.limiter
          assert_equal workers, found.little
        end
      end

      def test_names_the_plateau
        found = search(workers: 8, room: 40)
        low, high = found.plateau

        assert_equal 8, low
        assert_includes 32..40, high
        assert_equal :server, found.limiter
      end

      def test_names_the_refusal_that_came_before_the_capacity
        found = search(workers: 64, room: 20)

        assert_equal :refusal, found.limiter
        assert_includes 15..20, found.answer.concurrency
        assert_includes 21..32, found.refused_from
      end

      # 8 workers handle 400/s from 8 in flight on and refuse requests beyond 40; each sample is off by up to 15 %.
      def test_does_not_mistake_noise_on_the_plateau_for_a_refusal
        100.times do |seed|
          random = Random.new(seed)
          service = service(workers: 8, room: 40)
          found = Search.new(most: 256) do |concurrency|
            service.call(concurrency).map { |sample| sample.merge(good: sample[:good] * random.rand(0.85..1.15)) }
          end
          found.run

          assert_equal :server, found.limiter, "seed #{seed}"
          assert_includes 6..16, found.answer.concurrency, "seed #{seed}"
        end
      end

      def test_one_good_sample_shows_that_a_concurrency_is_enough
        service = service(workers: 8, room: 40)
        found = Search.new(most: 256) do |concurrency|
          rates = concurrency == 8 ? [0.5, 0.5, 1] : [1, 1, 1]
          service.call(concurrency).zip(rates).map { |sample, rate| sample.merge(good: sample[:good] * rate) }
        end

        assert_equal 8, found.run.concurrency
      end

      def test_names_the_cpu_of_the_client
        assert_equal :cpu, search(workers: 8, cpu: 0.97).limiter
      end

      def test_names_the_ceiling_when_a_higher_concurrency_might_help
        found = search(workers: 500, most: 64)

        assert_equal :ceiling, found.limiter
        assert_operator found.answer.concurrency, :>, 60
      end
    end
  end
end
