# frozen_string_literal: true

require_relative "errors"
require_relative "instrument"
require_relative "interrupts"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # An event of a call, yielded to the blocks of Trunkline.on. Frozen. Members that do not apply to the kind are nil.
  #
  #   kind        :call (the call has ended), :attempt (one request of the call has ended), :connection (a connection
  #               was opened, or could not be opened), :retry (another attempt is about to wait), :breaker (a breaker
  #               refused a request, or changed its state), :cache (a cache was used)
  #   method      "GET"
  #   url         String, without userinfo
  #   template    the call's option template:, such as "/users/:id"
  #   status      Integer
  #   duration    seconds: of the call, of the attempt, or of opening the connection
  #   attempts    Integer: number of attempts of the call so far
  #   number      Integer: number of the attempt, from 1
  #   error       the exception
  #   timings     Timings of the response; for a streamed one, those until its head
  #   started_at  Time
  #   request     Request
  #   response    Response
  #   details     Hash{Symbol => Object}: for :retry wait: (seconds) and reason: (a status, or the name of an error
  #               class); for :breaker state: and retry_in:; for :cache status:, Response#cache as text
  # rubocop:disable Lint/StructNewOverride -- as Request#method
  Event = Struct.new(:kind, :method, :url, :template, :status, :duration, :attempts, :number, :error, :timings,
                     :started_at, :request, :response, :details, keyword_init: true) do
    # rubocop:enable Lint/StructNewOverride
    include Redacted

    def initialize(**)
      super
      freeze
    end

    # @return [String] without the query, which may hold credentials
    def inspect
      "#<#{self.class} #{kind} #{method} #{request&.uri&.shown} #{[status || error&.class, details].compact.join(" ")}>"
    end
  end

  # The probe behind Trunkline.on: makes Events, and calls the blocks with them.
  #
  # @api private
  class Events
    include Redacted

    KINDS = %i[call attempt connection retry breaker cache].freeze

    # Returned by Trunkline.on.
    class Subscription
      include Redacted

      ANY = [Exception].freeze
      private_constant :ANY

      def initialize(kinds, block)
        @kinds = kinds
        @block = block
      end

      # Ends the subscription. Idempotent.
      # @return [nil]
      def off
        EVENTS.remove(self)
        nil
      end

      # @api private
      def wants?(kind) = @kinds.include?(kind)

      # Calls the block. Its exceptions do not affect the call, except those that another thread raises in it.
      # @api private
      def notify(event)
        Interrupts.watch
        Instrument.guard(@block, ANY) { @block.call(event) }
      end
    end

    # The state of one call.
    State = Struct.new(:call, :started_at) { include Redacted }

    def initialize
      @subscriptions = [].freeze
      @wanted = [].freeze
      @lock = Lock.new
    end

    # @param kinds [Array<Symbol>] among KINDS; none for all
    # @yield [event]
    # @return [Subscription]
    # @raise [InvalidRequest] without a block, or for an unknown kind
    def on(*kinds, &block)
      raise InvalidRequest, "on: needs a block, which takes an event" unless block

      unknown = kinds - KINDS
      raise InvalidRequest.of("on", unknown.first, KINDS.map(&:inspect).join(", ")) unless unknown.empty?

      Subscription.new(kinds.empty? ? KINDS : kinds.freeze, block).tap { |one| change { [*@subscriptions, one] } }
    end

    # @param subscription [Subscription]
    # @return [void]
    def remove(subscription)
      change { @subscriptions.reject { |one| one.equal?(subscription) } }
    end

    # ---- the methods of a probe (see Instrument) ----

    def call_begins(call, _probe_context) = State.new(call, Time.now)

    def attempt_begins(state, _request, number) = [[state, number, Time.now], nil]

    def attempt_ends(attempt_state, record)
      return unless @wanted.include?(:attempt)

      state, number, started_at = attempt_state
      emit(:attempt, state, record.request, record.result, number: number, started_at: started_at,
                                                           duration: record.ended - record.began)
    end

    def call_event(state, kind, facts)
      return unless @wanted.include?(kind)

      request, result = facts.values_at(:request, :result)
      more = kind == :connection ? { duration: opening(result) } : { details: facts.except(:request, :result).freeze }
      emit(kind, state, request || state.call.request, result, **more)
    end

    def call_ends(state, result)
      return unless @wanted.include?(:call)

      emit(:call, state, state.call.request, result, started_at: state.started_at,
                                                     duration: Engine.now - state.call.began)
    end

    private

    # The probe is registered only while there are subscriptions: without it, calls cost less.
    def change
      @lock.synchronize do
        before = @subscriptions
        @subscriptions = yield.freeze
        @wanted = KINDS.select { |kind| @subscriptions.any? { |one| one.wants?(kind) } }.freeze
        next if before.empty? == @subscriptions.empty?

        before.empty? ? Instrument.add(self) : Instrument.remove(self)
      end
    end

    def emit(kind, state, request, result, **facts)
      response = result if result.is_a?(Response)
      event = Event.new(kind: kind, method: request.method, url: request.url.freeze, template: state.call.template,
                        status: response&.status, attempts: state.call.tries, timings: response&.timings,
                        error: (result if result.is_a?(Exception)), request: request, response: response, **facts)
      @subscriptions.each { |one| one.notify(event) if one.wants?(kind) }
    end

    def opening(result)
      timings = result.is_a?(Response) ? result.timings.to_h.values_at(:resolve, :connect, :tls).compact : []
      timings.empty? ? nil : timings.sum
    end

    EVENTS = new
    private_constant :EVENTS

    class << self
      # @return [Events] the instance of the process
      # @api private
      def of_process = EVENTS
    end
  end
end
