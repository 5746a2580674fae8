# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "trunkline/lab/intervals"

module Trunkline
  module Lab
    class TestIntervals < Minitest::Test
      # Calls that end one second after the other, each after 100 us.
      def intervals(calls, each:)
        now = 0.0
        Clock.stub(:now, -> { now }) do
          Clock.stub(:cpu, -> { now / 2 }) do
            Intervals.new(each).tap { |made| calls.times { (now += 1) && made.record(100) } }.to_a
          end
        end
      end

      def test_an_interval_that_did_not_end_is_left_out
        assert_equal [{ requests: 4, wall: 4.0, cpu: 2.0, latency: { 100 => 4 } }] * 2, intervals(11, each: 4)
      end

      def test_a_long_run_keeps_a_limited_number_of_intervals_with_every_call
        [33, 66, 1000, 12_345].each do |calls|
          made = intervals(calls, each: 1)
          requests = made.first[:requests]

          assert_includes (Intervals::MOST / 2)..Intervals::MOST, made.size
          assert_equal [{ requests: requests, wall: requests.to_f, cpu: requests / 2.0, latency: { 100 => requests } }],
                       made.uniq
          assert_equal calls / requests, made.size
        end
      end

      def test_a_call_that_failed_has_no_latency
        made = Intervals.new(2).tap { |one| [100, nil].each { |call| one.record(call) } }.to_a

        assert_equal [[2, { 100 => 1 }]], made.map { |one| one.values_at(:requests, :latency) }
      end
    end
  end
end
