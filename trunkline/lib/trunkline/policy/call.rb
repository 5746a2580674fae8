# frozen_string_literal: true

require "securerandom"
require_relative "../attempt"
require_relative "../engine"
require_relative "../errors"
require_relative "../redacted"

module Trunkline
  module Policy
    # One call on its way through the chain of policies: its end, its attempts, and how it waits. A driver sends and
    # waits for it: ThreadDriver in the caller's thread, Scheduler::Flow among many.
    #
    # @api private
    class Call
      include Redacted

      # One request that was sent: when (Time, and monotonic seconds), and its result; nil when it was cancelled.
      Lap = Struct.new(:request, :started_at, :began, :ended, :result) do
        include Redacted

        # @return [Lap]
        def self.begin(request, now) = new(request, Time.now, now)
      end

      # For rescue: the errors that #of_whole_call corrects. A BreakerOpen tells of the whole call already, and costs a
      # few microseconds as long as it is not raised again: that would write its backtrace, frame by frame.
      module Correctable
        def self.===(error) = error.is_a?(Error) && !error.is_a?(BreakerOpen)
      end

      # @return [Request] as the caller made it
      attr_reader :request
      # @return [Float] monotonic seconds
      attr_reader :began
      # @return [Float, nil] monotonic seconds, when it must be over
      attr_reader :deadline
      # @return [Array<Attempt>] so far
      attr_reader :attempts
      # @return [Symbol, nil] why the next attempt is made, when it is not the first
      attr_writer :reason

      # @param policy [CallPolicy]
      # @param request [Request]
      # @param driver [ThreadDriver, Scheduler::Flow]
      # @param began [Float] monotonic seconds
      # @param limit [Float, nil] the end that Trunkline.deadline set, monotonic seconds
      def initialize(policy, request, driver, began, limit = nil)
        @policy = policy
        @request = request
        @driver = driver
        @began = began
        @limit = limit
        own = policy.deadline(began)
        @bounded = !limit.nil? && (own.nil? || limit <= own)
        @deadline = @bounded ? limit : own
        @attempts = []
        @exchanges = 0
        @waited = 0.0
        @sent = nil
        @reason = nil
      end

      # @return [RequestBuilder]
      def builder = @policy.requests

      # @return [Float] monotonic seconds
      def now = Engine.now

      # @return [Float, nil] seconds until the deadline
      def left = @deadline && (@deadline - now)

      # @return [Object] the same for calls whose clients have the same answers to the same requests
      def sharing = @policy.requests.sharing

      # @return [String] the call's Idempotency-Key
      def key = @key ||= SecureRandom.uuid

      # @return [Float] from 0.0 to 1.0
      def rand = Kernel.rand

      # Sends a request once, and tells it in #attempts. The end of the chain.
      #
      # @param request [Request]
      # @return [Response]
      # @raise [Error]
      def exchange(request)
        prepare(request)
        lap = Lap.begin(request, now)
        settle(lap, sending(request))
        record(lap, @reason)
        lap.result.is_a?(Exception) ? raise(lap.result) : lap.result._attempted(@attempts.dup.freeze)
      end

      # Sends a request, and a second one when the first has no answer in time. The first answer is taken, the other
      # attempt is cancelled.
      #
      # @param request [Request]
      # @param after [Float] seconds
      # @yieldreturn [Request, nil] the second one; nil for none. Called when the time is over
      # @return [Response]
      # @raise [Error] of the last, when both fail
      def race(request, after, &second)
        prepare(request)
        laps = @driver.race(Lap.begin(request, now), @deadline, after, second)
        @exchanges += laps.size - 1
        laps.each do |lap|
          settle(lap, lap.result) if lap.result
          record(lap, lap.equal?(laps.first) ? @reason : :hedge)
        end
        result = laps.map(&:result).grep(Response).first || laps.last.result
        result.is_a?(Exception) ? raise(result) : result._attempted(@attempts.dup.freeze)
      end

      # @param seconds [Float]
      # @return [nil]
      def sleep(seconds)
        return unless seconds.positive?

        @waited += seconds
        @driver.pause(seconds, nil)
        nil
      end

      # @param signal [Signal]
      # @param seconds [Float, nil] at the most; and no longer than the deadline
      # @return [Boolean] whether it was set in time
      def wait(signal, seconds = nil)
        before = now
        @driver.pause([seconds, left].compact.min, signal)
      ensure
        @waited += now - before
      end

      # Runs what follows a policy once more for a request, as a call of its own, in the thread of the futures.
      #
      # @param policy [#call] whose place in the chain it is
      # @param request [Request]
      # @yield [result] a Response or an Error
      # @return [nil]
      def in_background(policy, request, &block)
        @policy.in_background(policy, request, &block)
      end

      # @raise [TotalTimeout] when there is no time left, before anything more is sent
      def check_deadline!
        raise exceeded if @deadline && now >= @deadline
      end

      # @return [TotalTimeout, DeadlineExceeded]
      def exceeded
        Engine.failure(@bounded ? :DeadlineExceeded : :TotalTimeout,
                       code: :total, request: @request, label: @request.uri.label, phase: :queue, sent: sent_so_far,
                       elapsed: now - @began, limit: allowed, attempt: @attempts.size, attempts: @attempts.dup.freeze)
      end

      # Corrects an error of one exchange: it tells of the whole call.
      #
      # @param error [Error]
      # @return [Error]
      def of_whole_call(error)
        return error unless @exchanges > 1 || error.is_a?(AnswerError)

        facts = { elapsed: now - @began, limit: (allowed if error.is_a?(TotalTimeout)) }
        facts.update(attempt: @attempts.size, attempts: @attempts.dup.freeze, sent: sent_so_far) if @attempts.size > 1
        error.retold(facts.compact)
      end

      # @return [Hash{Symbol => Object}] what the error of a policy tells of the call that it ends
      def facts
        { elapsed: now - @began, attempt: @attempts.size + 1, attempts: @attempts.dup.freeze, sent: sent_so_far }
      end

      # @param request [Request]
      # @return [Request] with the fields that policies give it before it is sent: cookies, and callable values. A
      #   signature is not among them
      def completed(request) = @policy.chain.completed(request)

      # @param request [Request]
      # @return [String] names whose request it is: two calls with different credentials have different ones
      def credentials(request)
        "#{@policy.chain.signer_name} #{completed(request).headers["authorization"]}"
      end

      # Leaves what a hop has tried to the answer that ended it.
      # @param count [Integer] of attempts that stay
      def forget_attempts_since(count)
        @attempts.slice!(count..)
        @reason = nil
      end

      private

      def allowed = @deadline && (@deadline - @began)

      # Content that went out once is sent from its beginning.
      def prepare(request)
        check_deadline!
        @exchanges += 1
        return @sent = request.content unless @sent && request.content?

        unless request.rewindable?
          raise BodyError.new("#{Sentence.call(request)} would be sent again, but its body was streamed and cannot " \
                              "be rewound", request: request, phase: :write, sent: sent_so_far)
        end
        request.rewind
      end

      def sending(request)
        @driver.exchange(request, @deadline)
      rescue Error => error
        error
      end

      def settle(lap, result)
        lap.result = result.is_a?(Response) ? @policy.checked(result) : named(result)
      end

      # An end that Trunkline.deadline set has an error of its own, which policies tell from the server's failures.
      def named(error)
        return error unless @bounded && error.instance_of?(TotalTimeout)

        error.retold({ limit: allowed }, :DeadlineExceeded)
      end

      def record(lap, reason)
        lap.ended ||= now
        rows = lap.result ? lap.result.attempts : [Attempt.new(1, :first, nil, :partial, "Cancelled")]
        rows.each_with_index do |row, index|
          told = { number: @attempts.size + 1 }
          told.update(reason: reason || row.reason, waited: (row.waited || 0.0) + @waited) if index.zero?
          told.update(started_at: lap.started_at, elapsed: lap.ended - lap.began) if index == rows.size - 1
          @attempts << row.with(**told)
        end
        @waited = 0.0
        @reason = nil
      end

      # @return [Symbol] what servers can have seen, of all attempts
      def sent_so_far
        states = @attempts.map(&:sent)
        %i[all partial].find { |state| states.include?(state) } || :none
      end
    end
  end
end
