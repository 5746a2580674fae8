# frozen_string_literal: true

require_relative "../../../scheduler"
require_relative "../../../scheduler/no_limits"
require_relative "../streamed_transfer"

module Typhoeus
  # Runs requests concurrently, up to max_concurrency at a time, in the thread that calls #run. Callbacks may queue
  # further requests.
  #
  #   hydra = Typhoeus::Hydra.new(max_concurrency: 20)
  #   hydra.queue(Typhoeus::Request.new("https://api.test/users"))
  #   hydra.run
  class Hydra
    include ::Trunkline::Redacted

    CONCURRENCY = 200
    # Options of libcurl's multi interface that change no response.
    IGNORED = %i[pipelining maxconnects max_pipeline_length content_length_penalty_size chunk_length_penalty_size
                 max_concurrent_streams].freeze
    private_constant :CONCURRENCY, :IGNORED

    # @return [Hydra] the current fiber's
    def self.hydra
      Thread.current[:typhoeus_hydra] ||= new
    end

    # @return [Integer] how many requests may be in flight
    attr_reader :max_concurrency
    # @return [Array<Request>] requests that are not started
    attr_reader :queued_requests
    # @return [Hash{Request => Response}] responses of this run, when Config.memoize is on
    attr_reader :memory
    # @return [Hash{Request => Array<Request>}] memoizable requests in flight, each with the requests that wait for its
    #   response
    attr_reader :pending

    # @param options [Hash] max_concurrency: (200) and max_total_connections:, of which the lower one counts;
    #   max_host_connections:
    # @raise [Errors::InvalidOption] for an option that only libcurl supports
    def initialize(options = {})
      self.max_concurrency = [options[:max_concurrency] || CONCURRENCY, *options[:max_total_connections]]
        .map { |number| Integer(number) }.min
      @connections = connection_limit(options[:max_host_connections])
      unknown = options.keys - IGNORED - %i[max_concurrency max_total_connections max_host_connections]
      raise Errors::UnsupportedOption, unknown.first unless unknown.empty?

      @queued_requests = []
      @memory = {}
      @pending = {}
    end

    # @raise [ArgumentError] unless value is above 0
    def max_concurrency=(value)
      number = Integer(value)
      raise ArgumentError, "max_concurrency must be greater than zero" unless number.positive?

      @max_concurrency = number
    end

    # @return [Array<Request>]
    def queue(request)
      request.hydra = self
      @queued_requests << request
    end

    # Queues a request before all others.
    # @return [Array<Request>]
    def queue_front(request)
      request.hydra = self
      @queued_requests.unshift(request)
    end

    # Empties the queue. Requests in flight continue.
    # @return [Array]
    def abort
      @queued_requests.clear
    end

    # Starts the next request, regardless of the limit.
    def dequeue
      add(@queued_requests.shift) unless @queued_requests.empty?
    end

    # Starts as many requests as the limit allows.
    # @return [nil]
    def dequeue_many
      return if @dequeuing

      begin
        @dequeuing = true
        add(@queued_requests.shift) while scheduler.in_flight < @max_concurrency && !@queued_requests.empty?
      ensure
        @dequeuing = false
      end
    end

    # Starts a request, regardless of the queue and the limit, unless a before callback, a stub, the cache or the memory
    # has its response.
    #
    # @raise [Errors::NoStub, Errors::InvalidOption]
    def add(request)
      request.hydra = self
      settled, value = request.settle_locally
      return settle(value) if settled

      request.memoizable? ? add_memoizable(request) : start(request)
    end

    # Runs until no request is queued or in flight. An exception of a callback ends the run: requests in flight are
    # cancelled, queued ones stay queued.
    #
    # @return [nil]
    def run
      ::Trunkline::Interrupts.watch
      @memory.clear
      dequeue_many
      until scheduler.idle?
        scheduler.run_once { |pending, result| receive(pending, result) }
        # After all callbacks of this round, so that they do not use up the time limit of a request that starts here.
        dequeue_many
      end
    ensure
      finish
    end

    private

    def settle(value)
      dequeue_many
      value
    end

    # 0 is no limit.
    def connection_limit(value)
      value.nil? || value.zero? ? ::Trunkline::Facades::Connections::NO_LIMIT : Integer(value)
    end

    # ---- in flight ----

    def start(request)
      transfer = ::Trunkline::Facades::Typhoeus::Transfer.of(request, @connections)
      return start_exchange(transfer, transfer.http_request) unless transfer.invalid?

      transfer.finish_invalid
      complete(transfer)
    end

    # The Transfer follows redirects and answers challenges, because it does so for a single request, too.
    def start_exchange(transfer, http_request)
      pending = transfer.pending ||= new_pending(transfer)
      pending.request = http_request
      pending.flow = pending.began = nil
      scheduler.add(pending)
    end

    def new_pending(transfer)
      ::Trunkline::Scheduler::PendingRequest.new.tap do |pending|
        pending.callback = transfer
        pending.deadline = transfer.deadline
        pending.policy = transfer.policy unless transfer.streamed?
        pending.caller_context = transfer.caller_context
        pending.streamed = ::Trunkline::Scheduler::StreamBlocks::NONE if transfer.streamed?
      end
    end

    def receive(pending, result)
      transfer = pending.callback
      return if transfer.finished?

      next_request = transfer.receive(result)
      return start_exchange(transfer, next_request) if next_request

      complete(transfer) if transfer.finished?
    end

    def complete(transfer)
      scheduler.cancel(transfer.pending) if transfer.pending&.in_flight? # a callback has aborted the transfer
      finish_followers(transfer.request) unless @pending.empty?
    end

    # A forked child makes its own scheduler.
    def scheduler
      return @scheduler if @scheduler && @process == Process.pid

      pool = ::Trunkline::Facades::Typhoeus::RequestConfig.connections.pool
      @scheduler = ::Trunkline::Scheduler.new(pool, ::Trunkline::Scheduler::NoLimits)
      @process = Process.pid # set last: after an interrupt before this line, a forked child makes its own
      @scheduler
    end

    # Cancels the requests in flight.
    def finish
      @scheduler.close if @scheduler && @process == Process.pid
      @scheduler = nil
      [@memory, @pending].each(&:clear)
    end

    # ---- memory ----

    # The first of several equal requests is sent; the others get copies of its response.
    def add_memoizable(request)
      if (response = @memory[request])
        copy(request, response)
        dequeue_many
      elsif (waiting = @pending[request])
        waiting << request
      else
        @pending[request] = []
        start(request)
      end
    end

    # Compares by identity: a callback may have changed the leader's options, and with them its hash.
    def finish_followers(leader)
      waiting = @pending.find { |request, _| request.equal?(leader) }&.last or return

      @pending = @pending.reject { |request, _| request.equal?(leader) }
      response = @memory.find { |request, _| request.equal?(leader) }&.last || leader.response
      waiting.each { |request| copy(request, response) }
    end

    def copy(request, response)
      copy = response.dup
      copy.request = request
      request.execute_headers_callbacks(copy)
      request.finish(copy, true)
    end
  end
end
