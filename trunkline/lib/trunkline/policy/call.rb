# frozen_string_literal: true

require "securerandom"
require_relative "../engine"
require_relative "../errors"
require_relative "../redacted"
require_relative "log"
require_relative "watch"

module Trunkline
  module Policy
    # One call on its way through the chain of policies: its end, its attempts, and how it waits. A driver sends and
    # waits for it: ThreadDriver in the caller's thread, Scheduler::Flow among many.
    #
    # @api private
    class Call
      include Redacted

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
      # @return [Symbol, nil] why the next attempt is made, when it is not the first
      attr_writer :reason

      # @param policy [CallPolicy]
      # @param request [Request]
      # @param driver [ThreadDriver, Scheduler::Flow]
      # @param began [Float] monotonic seconds
      # @param surroundings [Surroundings, nil]
      def initialize(policy, request, driver, began, surroundings = nil)
        @policy = policy
        @request = request
        @driver = driver
        @began = began
        limit = surroundings&.limit
        own = policy.deadline(began)
        @bounded = !limit.nil? && (own.nil? || limit <= own)
        @deadline = @bounded ? limit : own
        @log = Log::NONE
        @exchanges = 0
        @waited = 0.0
        @sent = nil
        @reason = nil
        @watch = Watch.of(self, surroundings&.notes, policy.probes)
      end

      # Tells probes of the end of the call.
      # @yieldreturn [Response]
      # @return [Response]
      def watched
        return yield unless @watch

        begin
          result = yield
        rescue StandardError => error
          @watch.call_ends(error.is_a?(Error) ? of_whole_call(error) : error)
          raise
        end
        @watch.call_ends(result)
        result
      end

      # Tells probes what a policy does.
      # @param kind [Symbol] :retry, :breaker or :cache
      # @param facts [Hash{Symbol => Object}, nil] or what the block returns, which is called for probes alone
      def tell(kind, facts = nil)
        @watch&.told(kind, facts || yield)
      end

      # @return [String, nil] what the caller gave as template:
      def template = @request.template

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
        lap = begin_lap(request, 1)
        lap.result = sending(lap.request)
        conclude([lap])
      end

      # @return [Boolean] whether the request can be sent twice at once
      def races?(request) = !request.streaming? || @driver.races_streams?

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
        first = begin_lap(request, 1)
        laps = @driver.race(first, @deadline, after, -> { (following = second.call) && begin_lap(following, 2) })
        @exchanges += laps.size - 1
        laps.drop(1).each { |lap| lap.reason = :hedge }
        conclude(laps)
      end

      # @return [Array<Attempt>] so far
      def attempts = @log.attempts

      # @return [Integer] requests that were sent so far, for #forget_since
      def tries = @log.size

      # Leaves what a hop has tried to the answer that ended it.
      # @param tries [Integer] that stay
      def forget_since(tries)
        @log = @log.first(tries)
        @reason = nil
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
                       code: :total, request: @request, label: @request.uri.label, phase: :queue, sent: @log.sent,
                       doing: "about to be sent#{" again" if tries.positive?}",
                       elapsed: now - @began, limit: allowed, attempt: tries, attempts: attempts)
      end

      # Corrects an error of one exchange: it tells of the whole call.
      #
      # @param error [Error]
      # @return [Error]
      def of_whole_call(error)
        return error unless @exchanges > 1 || error.is_a?(AnswerError) || error.is_a?(TotalTimeout)

        facts = { elapsed: now - @began, limit: (allowed if error.is_a?(TotalTimeout)) }
        facts.update(attempt: attempts.size, attempts: attempts, sent: @log.sent) if tries > 1
        error.retold(facts.compact)
      end

      # @return [Hash{Symbol => Object}] what the error of a policy tells of the call that it ends
      def facts
        { elapsed: now - @began, attempt: tries + 1, attempts: attempts, sent: @log.sent }
      end

      # @param request [Request]
      # @return [Request] with the fields that policies give it before it is sent: cookies, and callable values. A
      #   signature is not among them
      def completed(request) = @policy.chain.completed(request)

      # @param request [Request]
      # @return [String] names whose request it is: two calls with different credentials have different ones
      def credentials(request)
        "#{signer} #{completed(request).headers["authorization"]}"
      end

      # @return [String, nil] names what signs the call's requests; unique among processes
      def signer = @policy.chain.signer_name

      private

      # @return [Float, nil] seconds; 0.0 of a deadline that was over before
      def allowed = @deadline && [@deadline - @began, 0.0].max

      # Content that went out once is sent from its beginning.
      def prepare(request)
        check_deadline!
        @exchanges += 1
        return @sent = request.content unless @sent && request.content?

        unless request.rewindable?
          raise BodyError.new("#{Sentence.call(request)} would be sent again, but its body was streamed and cannot " \
                              "be rewound", request: request, phase: :write, sent: @log.sent)
        end
        request.rewind
      end

      def sending(request)
        @driver.exchange(request, @deadline)
      rescue Error => error
        error
      end

      # @param ahead [Integer] which of the attempts that are about to be made
      # @return [Log::Lap]
      def begin_lap(request, ahead)
        request, states = @watch.attempt_begins(request, tries + ahead) if @watch
        Log::Lap.new(request, now).tap { |lap| lap.states = states }
      end

      # Notes what was sent, and gives the first answer, or the last error.
      # @return [Response]
      # @raise [Error]
      def conclude(laps)
        laps.each { |lap| note(lap) }
        result = laps.size == 1 ? laps[0].result : first_answer(laps.filter_map(&:result))
        @reason = nil
        result.is_a?(Exception) ? raise(result._attempted(@log)) : result._attempted(@log)
      end

      # @param results [Array<Response, Error>]
      def first_answer(results) = results.find { |one| one.is_a?(Response) } || results.last

      def note(lap)
        result = lap.result
        lap.ended ||= now
        lap.result = result.is_a?(Response) ? @policy.checked(result) : result && named(result)
        lap.reason ||= @reason
        lap.waited = @waited
        @waited = 0.0
        @log = @log.with(lap)
        return unless @watch

        lap.result&._attempted(@log)
        @watch.attempt_ends(lap.states, lap)
      end

      # An end that Trunkline.deadline set has an error of its own, which policies tell from the server's failures.
      def named(error)
        return error unless @bounded && error.instance_of?(TotalTimeout)

        error.retold({ limit: allowed }, :DeadlineExceeded)
      end
    end
  end
end
