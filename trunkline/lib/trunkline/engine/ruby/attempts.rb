# frozen_string_literal: true

require_relative "failures"
require_relative "limits"

module Trunkline
  module Engine
    module Ruby
      # An exchange's attempts to send its request, and the decision whether to try again.
      module Attempts
        # One attempt. Not a Struct, which JRuby creates more slowly.
        class Record
          attr_reader :reason
          # @return [Symbol, nil] the failure that ended the attempt; nil: success, or the attempt has not ended
          attr_accessor :code
          attr_accessor :sent, :address

          def initialize(reason)
            @reason = reason
            @sent = :none
          end
        end
        SENT = %i[none partial all].freeze
        private_constant :SENT

        # @return [Array<Array>] [number, reason, address, sent, error's class]
        def attempt_rows
          @attempts.each_with_index.map do |attempt, index|
            code = attempt.code
            [index + 1, attempt.reason, attempt.address, attempt.sent, code && FAILURES[code].first.to_s]
          end
        end

        # @return [String, nil] the peer's address in the last attempt
        def address = @attempts.last&.address

        # @return [Error] of a failed exchange
        def error
          why = self.why || Failure.new(:CANCELLED, phase: :read) # the response was closed before all of it was read
          facts = why.facts
          facts.update(request: request, elapsed: timings.total, limit: (allowed if why.timeout?),
                       attempt: @attempts.size, sent: sent_in_all, connection_age: used&.age,
                       address: address, label: @origin.label, attempts: attempt_rows,
                       unprocessed: (unprocessed? && sent_in_all == :none) || false)
          facts.update(why.refusal) if why.refusal
          Engine.failure(why.class_name, facts)
        end

        private

        def current_attempt = @attempts.last

        def begin_attempt(reason)
          @attempts << Record.new(reason) if @attempts.size < Limits::ATTEMPTS
        end

        def record_outcome(failure)
          return unless (attempt = current_attempt)

          attempt.sent = sent
          attempt.code = failure&.code
        end

        # Returns how much of the request a server can have received, over all attempts.
        def sent_in_all = @attempts.map { |attempt| SENT.index(attempt.sent) }.max.then { |most| SENT[most || 0] }

        def fail_or_resend(failure, now)
          reason = resend_reason(failure)
          raise failure unless reason

          record_outcome(failure)
          begin_attempt(reason)
          @ticket.min_opened_at = now if reason == :replayed # older connections may be dead too
          return leave_and_acquire(now) if @call

          connection = @connection
          @connection = nil
          handle_pool_result(@pool.replace(@ticket, connection, true), now)
        end

        # The only place that decides whether a request is sent again (docs/decisions/0003). A reused connection may
        # fail before a byte of the response has arrived. A request of which nothing was written, or that an HTTP/2
        # server has certainly not processed, is moved to another connection. A request that was written is replayed
        # once, and only if it is safe, has no body, and the caller allows it. All other requests fail.
        def resend_reason(failure)
          return unless may_resend?
          return :moved if unprocessed?
          return unless failure.died? && @used.reused
          return :moved if sent == :none

          :replayed if replayable? && @attempts.none? { |attempt| attempt.reason == :replayed }
        end

        def may_resend? = !any_byte? && fed_bytes.zero? && @attempts.size < Limits::ATTEMPTS

        def unprocessed? = @http2&.unprocessed

        def replayable? = @config.replay_safe? && safe_method? && @request.content_length.zero?

        def safe_method? = %w[GET HEAD OPTIONS TRACE].include?(@request.method)
      end
    end
  end
end
