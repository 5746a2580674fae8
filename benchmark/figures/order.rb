# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../support/orders"

module Bench
  module Figures
    # The call of a service (Orders): CPU of a Trunkline client compared with another client that does the same work.
    class Order
      OBJECTS = 500 # calls over which objects are counted
      OBJECT_BARS = { bar: 40, reach: 20 }.freeze

      attr_reader :title

      # @param title [String]
      # @param ours [Class] the Trunkline peer
      # @param other [Class] the peer to compare with
      # @param label [String] of the other peer
      # @param cpu [Array] the highest CPU per request relative to the other's, and the target
      # @param objects [Boolean] whether to count the objects of our peer too
      # @param service [Class] the server to call: Service or Origin
      # @param least [Class, nil] a peer that does only the work that both have in common
      def initialize(title, ours, other, label:, cpu:, objects: false, service: Origin, least: nil)
        @title = title
        @ours = ours
        @other = other
        @label = label
        @cpu = cpu
        @objects = objects
        @service = service
        @least = least
      end

      def call(suite)
        @service.serve(suite) do |base|
          Competitors.open(suite, Work.orders(Origin::ORDERS), base: base) do |competitors|
            competitors.add_first(@ours)
            competitors.add(@other, label: @label)
            competitors.add(@least) if @least
            Comparison.new(suite, title: title, cpu_bars: { @label => @cpu }).call(competitors)
          end
          count_objects(suite, base) if @objects
        end
      end

      private

      def count_objects(suite, base)
        process = PeerProcess.new(@ours, base: base)
        samples = suite.repeat { process.ask(:order_objects, path: Origin::ORDERS, count: OBJECTS) }
        suite.add_cost(title, samples.map { |sample| sample[:objects] }, "Ruby objects beyond the caller's and JSON's",
                       "objects", **OBJECT_BARS)
        suite.add_cost(title, samples.map { |sample| sample[:callers] }, "Ruby objects of the caller and of JSON",
                       "objects")
      ensure
        process&.stop
      end
    end
  end
end
