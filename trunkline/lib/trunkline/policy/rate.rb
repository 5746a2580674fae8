# frozen_string_literal: true

require_relative "../errors"
require_relative "../interrupts"
require_relative "../limiter"
require_relative "../redacted"
require_relative "../error_message"
require_relative "policy_options"
require_relative "state"
require_relative "rate/schedule"
require_relative "rate/quota"

module Trunkline
  module Policy
    # Delays requests, so that an origin gets no more of them than the caller, or the server itself, allows. Requests
    # start in the order in which they arrive. The clients of a process that have the same options share the pace of a
    # key.
    #
    # A call reserves a slot of the pace (a Schedule or a Quota), waits for its time, and passes the response to the
    # pace.
    class Rate
      include Redacted

      KEY = PolicyOptions::Check.new("a String, or callable with a Request", lambda do |value|
        value.is_a?(String) ? value.dup.freeze : (value if value.respond_to?(:call))
      end)
      STORE = PolicyOptions::Check.new("an object with pace(key, per_second, burst)", lambda do |value|
        value if value.respond_to?(:pace)
      end)
      OPTIONS = PolicyOptions.new(:rate,
                                  per_second: [nil, PolicyOptions.number(1e-6..1e6)],
                                  burst: [nil, PolicyOptions.integer(1..1_000_000)],
                                  key: [nil, KEY],
                                  store: [nil, STORE])
      private_constant :KEY, :STORE

      # @param value [true, :server, Hash, Rate]
      # @return [Rate]
      # @raise [InvalidRequest]
      def self.of(value)
        case value
        when Rate then value
        when true, :server then new
        when Hash then new(**check(OPTIONS.read(value)))
        else raise InvalidRequest.of(:rate, value, ":server, true, or a Hash of #{OPTIONS.names.join(", ")}")
        end
      end

      # @param options [Hash{Symbol => Object}]
      # @return [Hash{Symbol => Object}]
      def self.check(options)
        return options if options[:per_second] || options[:store]

        raise InvalidRequest, "rate: per_second: is required: how many requests may start in a second"
      end
      private_class_method :check

      # @return [Hash{String => Hash}] Schedule#to_h or Quota#to_h by key ("host:port" without key:). When clients with
      #   different options have the same key, the pace with the longest wait
      def self.stats
        now = Engine.now
        State.all(:rate).each_with_object({}) do |((key, *), pace), all|
          stats = pace.to_h(now)
          all[key] = stats unless all[key] && all[key][:wait] >= stats[:wait]
        end
      end

      # @param per_second [Float, nil] nil to obey the limit that the server sends
      # @param burst [Integer, nil]
      # @param key [String, #call, nil] requests with the same key are counted together; nil to count by origin
      # @param store [#pace, nil] keeps paces for several processes; nil to keep them in this process
      def initialize(per_second: nil, burst: nil, key: nil, store: nil)
        @per_second = per_second
        @burst = burst || (per_second && Schedule.burst_of(per_second))
        @key = key
        @store = store
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      # @raise [QueueTimeout] without waiting, when the slot would come too late for the call
      def call(request, call)
        key = key_of(request) or return yield(request)

        pace = pace(key)
        slot = await_slot(pace, key, request, call)
        begin
          yield(request).tap { |response| pace.learn(slot, response, call.now) }
        ensure
          pace.ended(slot)
        end
      end

      # Called before a second request of the same call, which must not wait.
      #
      # @param request [Request]
      # @param now [Float] monotonic seconds
      # @yieldreturn [Boolean] whether to send the request if the rate allows it
      # @return [Boolean] whether to send the request
      def start_now?(request, now)
        key = key_of(request) or return yield

        pace = pace(key)
        _, slot = pace.reserve(now, 0.0)
        return false if slot.nil?

        started = yield
        started ? pace.ended(slot) : pace.cancel(slot) # the call is in flight already, with its first request
        started
      end

      # Called before one of many requests begins, so that the request waits where it delays no request to another
      # origin. When the server asks for more than Limiter::LONGEST_PAUSE, it is begun, and then waits or fails as a
      # single call does.
      #
      # @param request [Request]
      # @param now [Float] monotonic seconds
      # @return [Float] seconds until the request could start; no slot is reserved
      def delay(request, now)
        key = key_of(request) or return 0.0

        seconds = pace(key).delay(now)
        @per_second || @store || seconds <= Limiter::LONGEST_PAUSE ? seconds : 0.0
      rescue StandardError => error
        raise if Interrupts.ended_by?(error)

        0.0 # #call raises the error of key: again, where it fails only that request
      end

      private

      # @return [String, nil] nil: no limit
      def key_of(request)
        case @key
        when nil then request.uri.label
        when String then @key
        else @key.call(request)&.to_s
        end
      end

      def pace(key)
        return @store.pace(key, @per_second, @burst) if @store

        State.of(:rate, [key, @per_second, @burst]) { @per_second ? Schedule.new(@per_second, @burst) : Quota.new }
      end

      # Waits for a slot. The wait is checked again after each sleep: a response may have changed the server's limit
      # meanwhile.
      # @return [Object] the slot
      def await_slot(pace, key, request, call)
        limit = limit_of(call)
        wait, slot = pace.reserve(call.now, limit - call.now)
        until wait.zero?
          raise too_late(pace, key, request, call, wait) if slot.nil? || call.now + wait > limit

          call.sleep(wait)
          wait = pace.wait(slot, call.now)
        end
        begun = slot
      ensure
        pace.cancel(slot) if slot && begun.nil?
      end

      # @return [Float] monotonic seconds until which the call may wait
      def limit_of(call)
        queue = call.builder.timeouts&.queue
        [call.deadline, (call.now + queue if queue)].compact.min || Float::INFINITY
      end

      def too_late(pace, key, request, call, wait)
        label = request.uri.label
        counted = " for the key #{InvalidRequest.shown("key", key)}" unless key == label
        left = [limit_of(call) - call.now, 0.0].max
        times = "its turn is in #{ErrorMessage.seconds(wait)}, and it may wait for #{ErrorMessage.seconds(left)}"
        QueueTimeout.new(
          "#{ErrorMessage.describe(request)} at #{label} was not sent: #{pace.reason(call.now)}#{counted}; " \
          "#{times} (rate:)",
          request: request, phase: :queue, limit: left, **call.facts
        )
      end
    end
  end
end
