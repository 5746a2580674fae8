# frozen_string_literal: true

require_relative "../errors"
require_relative "../options/checks"
require_relative "../redacted"

module Trunkline
  class Scheduler
    # The validated options of batch, each and map. Frozen.
    class BatchOptions
      include Redacted

      NAMES = %i[concurrency max_in_flight rate progress on_error on_cancel reuse_bodies invalid].freeze
      MAX_IN_FLIGHT = 512
      MOST = 65_536
      # The least number of concurrent streams that a server should allow (RFC 9113 6.5.2).
      STREAMS = 100
      RATE = %r{\A(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|m|min|minute|h|hour)\z}
      SECONDS = { "s" => 1.0, "m" => 60.0, "h" => 3600.0 }.freeze

      # @return [:auto, Integer] maximum of requests in flight to each origin
      attr_reader :concurrency
      # @return [Integer] maximum of requests in flight to all origins
      attr_reader :max_in_flight
      # @return [Float, nil] maximum of starts per second, to all origins
      attr_reader :rate
      # @return [#call, true, false, nil]
      attr_reader :progress
      # @return [#call, nil]
      attr_reader :on_error, :on_cancel
      # @return [Boolean] whether a body is emptied when its block returns, so that the next body can use its memory
      attr_reader :reuse_bodies
      # @return [:raise, :yield] how an invalid request is reported
      attr_reader :invalid
      # @return [Integer] the highest limit that :auto may find: with one connection per request, and over HTTP/2
      attr_reader :maximum, :maximum_of_streams

      # @param name [Object] an unknown option
      # @return [InvalidRequest]
      def self.unknown(name)
        known = NAMES.map { |one| "#{one}:" }.join(", ")
        hint = if Options::NAMES.include?(name)
                 "; for all requests of a list: client.with(#{name}: ...)"
               elsif (Options::CALL_ONLY + Options::BATCH_ONLY).include?(name)
                 "; for one request of a list: [:post, url, { #{name}: ... }]"
               end
        return Options.unknown(name, NAMES + Options::NAMES) unless hint

        InvalidRequest.of("option", name, "one of #{known}#{hint}")
      end

      # @param options [Hash{Symbol => Object}]
      # @param max_connections_per_host [Integer] the client's option
      # @raise [InvalidRequest]
      def initialize(options, max_connections_per_host)
        unknown = options.keys - NAMES
        raise BatchOptions.unknown(unknown.first) unless unknown.empty?

        @concurrency = concurrency_of(options.fetch(:concurrency, :auto))
        @max_in_flight = in_flight_of(options[:max_in_flight])
        @maximum = [max_connections_per_host, @max_in_flight].min
        @maximum_of_streams = [max_connections_per_host * STREAMS, @max_in_flight].min
        @rate = rate_of(options[:rate]) if options[:rate]
        @progress = progress_of(options[:progress])
        @on_error = callable_or_nil(:on_error, options)
        @on_cancel = callable_or_nil(:on_cancel, options)
        @reuse_bodies = Options::Checks.boolean(:reuse_bodies, options.fetch(:reuse_bodies, false))
        @invalid = invalid_of(options.fetch(:invalid, :raise))
        freeze
      end

      # @param name [String] a method whose results keep their bodies
      # @raise [InvalidRequest]
      def refuse_reuse_bodies(name)
        raise InvalidRequest, "reuse_bodies: is for each: what #{name} gives is kept" if @reuse_bodies
      end

      # @raise [InvalidRequest]
      def refuse_invalid
        return unless @invalid == :yield

        raise InvalidRequest,
              "invalid: is for each and map: batch raises where the request is added"
      end

      private

      def concurrency_of(value)
        return value if value == :auto || (value.is_a?(Integer) && value.between?(1, MOST))

        raise InvalidRequest.of("concurrency", value, ":auto or an Integer from 1 to #{MOST}")
      end

      def in_flight_of(value)
        return [MAX_IN_FLIGHT, @concurrency == :auto ? 0 : @concurrency].max if value.nil?

        Options::Checks.integer(:max_in_flight, value, 1..MOST)
      end

      def rate_of(value)
        match = value.is_a?(String) ? RATE.match(value) : nil
        rate = match ? match[1].to_f / SECONDS.fetch(match[2][0]) : value
        return rate.to_f if rate.is_a?(Numeric) && rate.real? && rate.to_f.finite? && rate.positive?

        raise InvalidRequest.of("rate", value, 'as "100/s", "600/min" or "5000/h", or a number a second')
      end

      def progress_of(value)
        return value if [nil, true, false].include?(value) || value.respond_to?(:call)

        raise InvalidRequest.of("progress", value, "true (for a terminal) or callable")
      end

      def invalid_of(value)
        return value if %i[raise yield].include?(value)

        raise InvalidRequest.of("invalid", value, ":raise, or :yield to have the error as the request's result")
      end

      def callable_or_nil(name, options)
        Options::Checks.callable(name, options[name]) unless options[name].nil?
      end
    end
  end
end
