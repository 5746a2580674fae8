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
      # @param caller_context [CallerContext, nil]
      def initialize(policy, request, driver, began, caller_context = nil)
        @policy = policy
        @request = request
        @driver = driver
        @began = began
        limit = caller_context&.limit
        own_deadline = policy.deadline(began)
        @bounded = !limit.nil? && (own_deadline.nil? || limit <= own_deadline)
        @deadline = @bounded ? limit : own_deadline
        @log = Log::NONE
        @exchanges = 0
        @waited = 0.0
        @sent = nil
        @reason = nil
        @watch = Watch.of(self, caller_context&.probe_contexts, policy.probes)
      end

      # Reports the end of the call to the probes.
      # @yieldreturn [Response]
      # @return [Response]
      def report_end
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

      # Reports to the probes what a policy does.
      # @param kind [Symbol] :retry, :breaker or :cache
      # @param facts [Hash{Symbol => Object}, nil] nil to take them from the block, which is called only if there are
      #   probes
      def notify(kind, facts = nil)
        @watch&.call_event(kind, facts || yield)
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
        record = begin_exchange(request, 1)
        record.result = send_once(record.request)
        conclude([record])
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
        first = begin_exchange(request, 1)
        begin_second = -> { (following = second.call) && begin_exchange(following, 2) }
        records = @driver.race(first, @deadline, after, begin_second)
        @exchanges += records.size - 1
        records.drop(1).each { |record| record.reason = :hedge }
        conclude(records)
      end

      # @return [Array<Attempt>] made so far
      def attempts = @log.attempts

      # @return [Integer] requests that were sent so far, for #truncate_log
      def tries = @log.size

      # Removes the later attempts from the log: they belong to the redirect or challenge that answered them.
      # @param tries [Integer] number of attempts to keep
      def truncate_log(tries)
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
        error.with_facts(facts.compact)
      end

      # @return [Hash{Symbol => Object}] attributes of the call for an error that a policy raises
      def facts
        { elapsed: now - @began, attempt: tries + 1, attempts: attempts, sent: @log.sent }
      end

      # @param request [Request]
      # @return [Request] with the fields that policies add before it is sent: cookies and computed values, but not the
      #   signature
      def with_policy_fields(request) = @policy.chain.with_policy_fields(request)

      # @param request [Request]
      # @return [String] identifies the credentials of the request: it differs between calls with different credentials
      def credentials(request)
        "#{signer} #{with_policy_fields(request).headers["authorization"]}"
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
          raise BodyError.new("#{ErrorMessage.describe(request)} would be sent again, but its body was streamed and " \
                              "cannot be rewound", request: request, phase: :write, sent: @log.sent)
        end
        request.rewind
      end

      def send_once(request)
        @driver.exchange(request, @deadline)
      rescue Error => error
        error
      end

      # @param ahead [Integer] position among the attempts about to be made, from 1
      # @return [Log::ExchangeRecord]
      def begin_exchange(request, ahead)
        request, states = @watch.attempt_begins(request, tries + ahead) if @watch
        Log::ExchangeRecord.new(request, now).tap { |record| record.states = states }
      end

      # Adds the records to the log, and returns the first response or raises the last error.
      # @return [Response]
      # @raise [Error]
      def conclude(records)
        records.each { |record| add_to_log(record) }
        result = records.size == 1 ? records[0].result : first_response(records.filter_map(&:result))
        @reason = nil
        result.is_a?(Exception) ? raise(result._set_attempts(@log)) : result._set_attempts(@log)
      end

      # @param results [Array<Response, Error>]
      def first_response(results) = results.find { |one| one.is_a?(Response) } || results.last

      def add_to_log(record)
        result = record.result
        record.ended ||= now
        record.result = result.is_a?(Response) ? @policy.check_proxy_response(result) : as_deadline_exceeded(result)
        record.reason ||= @reason
        record.waited = @waited
        @waited = 0.0
        @log = @log.with(record)
        return unless @watch

        record.result&._set_attempts(@log)
        @watch.attempt_ends(record.states, record)
      end

      # A timeout that Trunkline.deadline caused becomes a DeadlineExceeded, so that policies can tell it from a failure
      # of the server.
      def as_deadline_exceeded(error)
        return error unless @bounded && error.instance_of?(TotalTimeout)

        error.with_facts({ limit: allowed }, :DeadlineExceeded)
      end
    end
  end
end
