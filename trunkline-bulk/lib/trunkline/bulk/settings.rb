# frozen_string_literal: true

require "trunkline"

module Trunkline
  class Bulk
    # The options of a bulk class, checked. Frozen.
    class Settings
      def self.number?(value) = value.is_a?(Numeric) && value.real? && value.finite?
      private_class_method :number?

      # name => [default, what is allowed, check]
      TABLE = {
        slice: [1_000, "an Integer from 1 to 100000", ->(value) { value.is_a?(Integer) && value.between?(1, 100_000) }],
        concurrency: [:auto, ":auto or an Integer from 1 to 65536",
                      ->(value) { value == :auto || (value.is_a?(Integer) && value.between?(1, 65_536)) }],
        per_origin: [nil, "a positive number of requests a second, or nil",
                     ->(value) { value.nil? || (number?(value) && value.positive?) }],
        in_flight: [nil, "an Integer from 1 to 1000000, or nil",
                    ->(value) { value.nil? || (value.is_a?(Integer) && value.between?(1, 1_000_000)) }],
        robots: [nil, "a String, the name that robots.txt knows this program by, or nil",
                 ->(value) { value.nil? || (value.is_a?(String) && value.match?(/\A[A-Za-z_-]+\z/)) }],
        lease: [30, "seconds from 1 to 3600", ->(value) { number?(value) && value.between?(1, 3600) }],
        attempts: [3, "an Integer from 1 to 100", ->(value) { value.is_a?(Integer) && value.between?(1, 100) }],
        jobs: [32, "an Integer from 1 to 10000", ->(value) { value.is_a?(Integer) && value.between?(1, 10_000) }],
        queue: [nil, "a String or Symbol, or nil",
                ->(value) { value.nil? || value.is_a?(String) || value.is_a?(Symbol) }],
        hold: [300, "seconds from 0 to 86400", ->(value) { number?(value) && value.between?(0, 86_400) }]
      }.freeze
      CLIENT = { timeout: 30 }.freeze
      private_constant :CLIENT

      # @return [Integer] items in a slice, which a worker claims as a whole
      attr_reader :slice
      # @return [:auto, Integer] requests in flight to each origin
      attr_reader :concurrency
      # @return [Numeric, nil] requests a second to each origin, by all workers together
      attr_reader :per_origin
      # @return [Integer, nil] requests in flight to each origin, by all workers together
      attr_reader :in_flight
      # @return [String, nil] the name by which rules are found in robots.txt; nil to ignore robots.txt
      attr_reader :robots
      # @return [Numeric] seconds without a renewal after which the slices of a worker are taken over
      attr_reader :lease
      # @return [Integer] how often a slice is begun, if its workers die, until its items are sent one by one; an item
      #   has failed when as many workers have died with it alone in flight
      attr_reader :attempts
      # @return [Integer] the number of jobs to keep waiting in the queue, with on: :active_job
      attr_reader :jobs
      # @return [String, Symbol, nil] the queue of these jobs; nil for ActiveJob's default
      attr_reader :queue
      # @return [Numeric] the total seconds for which items are held back while their origin cannot be reached
      attr_reader :hold
      # @return [Hash{Symbol => Object}] options of the client
      attr_reader :client

      # @param values [Hash{Symbol => Object}]
      # @param client [Hash{Symbol => Object}]
      # @raise [InvalidRequest]
      def initialize(values = {}, client = CLIENT)
        TABLE.each { |name, (default, *)| instance_variable_set(:"@#{name}", values.fetch(name, default)) }
        @client = client.freeze
        freeze
      end

      # @param changes [Hash{Symbol => Object}]
      # @return [Settings]
      # @raise [InvalidRequest]
      def with(changes)
        bulk_values, client = changes.partition { |name, _| TABLE.key?(name) }.map(&:to_h)
        bulk_values.each { |name, value| check(name, value) }
        client = @client.merge(client)
        Trunkline.new(nil, client) # raises for invalid options
        Settings.new(TABLE.keys.to_h { |name| [name, public_send(name)] }.merge(bulk_values), client)
      end

      private

      def check(name, value)
        _, allowed, check = TABLE.fetch(name)
        raise InvalidRequest.of(name.name, value, allowed) unless check.call(value)
      end
    end
  end
end
