# frozen_string_literal: true

require "securerandom"
require_relative "../engine"
require_relative "../errors"
require_relative "../redacted"
require_relative "log"
require_relative "watch"

module Trunkline
  module Policy
    # One call as it passes through the chain of policies: its deadline, its attempts, and its waits. A driver sends its
    # requests and waits for them: ThreadDriver in the caller's thread, Scheduler::Flow for one of many concurrent
    # calls.
    #
    # @api private
    class Call
      include Redacted

      # Matches in a rescue clause the errors that #of_whole_call corrects. A BreakerOpen already describes the whole
      # call. It must not be rescued and raised again: that would fill in its backtrace, which costs more than the few
      # microseconds that the error takes otherwise.
      module Correctable
        def self.===(error) = error.is_a?(Error) && !error.is_a?(BreakerOpen)
      end

      # @return [Request] as the caller built it
      attr_reader :request
      # @return [Float] monotonic seconds
      attr_reader :began
      # @return [Float, nil] monotonic seconds, the time by which the call must end
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

      # Reports the end of the call to the probes.
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

      # Reports what a policy does to the probes.
      # @param kind [Symbol] :retry, :breaker or :cache
      # @param facts [Hash{Symbol => Object}, nil] nil to take them from the block, which is called only if there are
      #   probes
      def tell(kind, facts = nil)
        @watch&.told(kind, facts || yield)
      end

      # @return [String, nil] the value of the option template:
      def template = @request.template

      # @return [RequestBuilder]
      def builder = @policy.requests

      # @return [Float] monotonic seconds
      def now = Engine.now

      # @return [Float, nil] seconds until the deadline
      def left = @deadline && (@deadline - now)

      # @return [Object] equal for calls whose clients get the same responses to the same requests
      def sharing = @policy.requests.sharing

      # @return [String] the call's Idempotency-Key
      def key = @key ||= SecureRandom.uuid

      # @return [Float] a random number from 0.0 to 1.0
      def rand = Kernel.rand

      # Sends a request once and records it in #attempts. The chain ends with this method.
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

      # @return [Boolean] whether #race can send the request twice
      def races?(request) = !request.streaming? || @driver.races_streams?

      # Sends a request, and a second one when the first has no response in time. Takes the first response and cancels
      # the other attempt.
      #
      # @param request [Request]
      # @param after [Float] seconds
      # @yieldreturn [Request, nil] the second request; nil for none. The block is called after that time
      # @return [Response]
      # @raise [Error] the error of the last attempt, when all of them fail
      def race(request, after, &second)
        prepare(request)
        first = begin_lap(request, 1)
        laps = @driver.race(first, @deadline, after, -> { (following = second.call) && begin_lap(following, 2) })
        @exchanges += laps.size - 1
        laps.drop(1).each { |lap| lap.reason = :hedge }
        conclude(laps)
      end

      # @return [Array<Attempt>] made so far
      def attempts = @log.attempts

      # @return [Integer] requests that were sent so far, for #forget_since
      def tries = @log.size

      # Removes the later attempts from the log: they belong to the redirect or challenge that answered them.
      # @param tries [Integer] number of attempts to keep
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
      # @param seconds [Float, nil] maximum; the deadline limits the wait as well
      # @return [Boolean] whether the signal was set in time
      def wait(signal, seconds = nil)
        before = now
        @driver.pause([seconds, left].compact.min, signal)
      ensure
        @waited += now - before
      end

      # Runs the policies behind `policy` again for a request, as a separate call, in the thread that runs the futures.
      #
      # @param policy [#call] a policy of this call's chain
      # @param request [Request]
      # @yield [result] a Response or an Error
      # @return [nil]
      def in_background(policy, request, &block)
        @policy.in_background(policy, request, &block)
      end

      # @raise [TotalTimeout] when the deadline has passed
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

      # Makes an error of one exchange describe the whole call.
      #
      # @param error [Error]
      # @return [Error]
      def of_whole_call(error)
        return error unless @exchanges > 1 || error.is_a?(AnswerError) || error.is_a?(TotalTimeout)

        facts = { elapsed: now - @began, limit: (allowed if error.is_a?(TotalTimeout)) }
        facts.update(attempt: attempts.size, attempts: attempts, sent: @log.sent) if tries > 1
        error.retold(facts.compact)
      end

      # @return [Hash{Symbol => Object}] attributes of the call for an error that a policy raises
      def facts
        { elapsed: now - @began, attempt: tries + 1, attempts: attempts, sent: @log.sent }
      end

      # @param request [Request]
      # @return [Request] with the fields that policies add before it is sent: cookies and computed values, but not the
      #   signature
      def completed(request) = @policy.chain.completed(request)

      # @param request [Request]
      # @return [String] identifies the credentials of the request: it differs between calls with different credentials
      def credentials(request)
        "#{signer} #{completed(request).headers["authorization"]}"
      end

      # @return [String, nil] identifies the signer of the call's requests; unique among processes
      def signer = @policy.chain.signer_name

      private

      # @return [Float, nil] seconds; 0.0 when the deadline had passed before the call began
      def allowed = @deadline && [@deadline - @began, 0.0].max

      # Checks the deadline, and rewinds content that an earlier attempt may have read.
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

      # @param ahead [Integer] position among the attempts about to be made, from 1
      # @return [Log::Lap]
      def begin_lap(request, ahead)
        request, states = @watch.attempt_begins(request, tries + ahead) if @watch
        Log::Lap.new(request, now).tap { |lap| lap.states = states }
      end

      # Records the laps, and returns the first response or raises the last error.
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

      # A timeout that Trunkline.deadline caused becomes a DeadlineExceeded, so that policies can tell it from a failure
      # of the server.
      def named(error)
        return error unless @bounded && error.instance_of?(TotalTimeout)

        error.retold({ limit: allowed }, :DeadlineExceeded)
      end
    end
  end
end
