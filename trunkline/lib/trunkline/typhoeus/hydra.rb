# frozen_string_literal: true

require_relative "face/streamed_flight"

module Typhoeus
  # Runs requests side by side: up to max_concurrency at a time, all in the thread that calls #run. Callbacks may queue
  # further ones.
  #
  #   hydra = Typhoeus::Hydra.new(max_concurrency: 20)
  #   hydra.queue(Typhoeus::Request.new("https://api.test/users"))
  #   hydra.run
  class Hydra
    include ::Trunkline::Redacted

    CONCURRENCY = 200
    # Of libcurl's multi: knobs that change no answer here.
    PASSED_OVER = %i[pipelining maxconnects max_pipeline_length content_length_penalty_size chunk_length_penalty_size
                     max_concurrent_streams].freeze
    private_constant :CONCURRENCY, :PASSED_OVER

    # @return [Hydra] one for each thread (to be exact, each fiber)
    def self.hydra
      Thread.current[:typhoeus_hydra] ||= new
    end

    # @return [Integer] how many requests may be in flight
    attr_reader :max_concurrency
    # @return [Array<Request>] that wait to be started
    attr_reader :queued_requests
    # @return [Hash{Request => Response}] of this run, when Config.memoize is on
    attr_reader :memory

    # @param options [Hash] max_concurrency: (200); max_total_connections: is the same here; max_host_connections:
    # @raise [Errors::InvalidOption] for what only libcurl's multi has
    def initialize(options = {})
      self.max_concurrency = [options[:max_concurrency] || CONCURRENCY, *options[:max_total_connections]]
        .map { |number| Integer(number) }.min
      @connections = most(options[:max_host_connections])
      unknown = options.keys - PASSED_OVER - %i[max_concurrency max_total_connections max_host_connections]
      raise Errors::UnsupportedOption, unknown.first unless unknown.empty?

      @queued_requests = []
      @memory = {}
      @followers = {}
      @flying = {}.compare_by_identity # Flight => true
    end

    # @raise [ArgumentError] unless it is above 0
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

    # Queues it before all others.
    # @return [Array<Request>]
    def queue_front(request)
      request.hydra = self
      @queued_requests.unshift(request)
    end

    # Forgets what has not been started. What is in flight goes on.
    # @return [Array]
    def abort
      @queued_requests.clear
    end

    # Starts the next one, whatever the limit.
    def dequeue
      add(@queued_requests.shift) unless @queued_requests.empty?
    end

    # Starts as many as the limit allows.
    # @return [nil]
    def dequeue_many
      return if @dequeuing

      begin
        @dequeuing = true
        add(@queued_requests.shift) while @flying.size < @max_concurrency && !@queued_requests.empty?
      ensure
        @dequeuing = false
      end
    end

    # Starts a request, past the queue and the limit; or answers it, if a before callback, a stub, the cache or the
    # memory can.
    #
    # @raise [Errors::NoStub, Errors::InvalidOption]
    def add(request)
      request.hydra = self
      settled, answer = request.shortcut
      return answered(answer) if settled

      request.memoizable? ? add_memoizable(request) : start(request)
    end

    # Runs until nothing is queued or in flight. What a callback raises ends the run: what was in flight is given up,
    # what was queued stays.
    #
    # @return [nil]
    def run
      ::Trunkline::Interrupts.watch
      @memory.clear
      dequeue_many
      turn until @flying.empty?
    ensure
      finish
    end

    private

    def answered(answer)
      dequeue_many
      answer
    end

    # 0 is no limit.
    def most(value)
      value.nil? || value.zero? ? ::Trunkline::TyphoeusFace::Recipe::ANY_NUMBER : Integer(value)
    end

    # ---- in flight ----

    def start(request)
      flight = ::Trunkline::TyphoeusFace::Flight.of(request, @connections)
      flight.refused? ? land(flight) : send_out(flight, flight.plan)
    end

    def send_out(flight, plan)
      @flying[flight] = true
      multi = self.multi
      flight.id = multi.public_send(flight.streamed? ? :stream : :add, plan, flight.deadline, flight)
    rescue ::Trunkline::Error => error
      receive(flight, error)
    end

    def turn
      multi.run(nil).each_slice(2) do |flight, result|
        flight.over? ? @flying.delete(flight) : receive(flight, result)
      end
    end

    # A flight leaves before its callbacks are called: they may run this hydra again.
    def receive(flight, result)
      goes_on = flight.streamed? && (result.is_a?(String) || result.is_a?(::Trunkline::Response))
      @flying.delete(flight) unless goes_on
      plan = flight.take(result)
      return send_out(flight, plan) if plan

      land(flight) if flight.over?
    end

    def land(flight)
      @multi&.cancel(flight.id) if @flying.delete(flight) # a callback ended it
      answer_followers(flight.request) unless @followers.empty?
      dequeue_many
    end

    def multi
      return @multi if @multi && @process == Process.pid

      @multi = ::Trunkline::Engine::Multi.new(::Trunkline::TyphoeusFace::Recipe.family.pool)
      @process = Process.pid # last: interrupted before, a forked child would take the parent's for its own
      @multi
    end

    # The poller goes with the run, and what is in flight then with the poller.
    def finish
      @multi.close if @multi && @process == Process.pid
      @multi = nil
      [@flying, @memory, @followers].each(&:clear)
    end

    # ---- memory ----

    # Of requests that are the same the first is sent; the others get copies of its response.
    def add_memoizable(request)
      if (response = @memory[request])
        copy(request, response)
        dequeue_many
      elsif (waiting = @followers[request])
        waiting << request
      else
        @followers[request] = []
        start(request)
      end
    end

    # Found by identity: a callback may have changed the leader's options, and so its hash.
    def answer_followers(leader)
      waiting = @followers.find { |request, _| request.equal?(leader) }&.last or return

      @followers = @followers.reject { |request, _| request.equal?(leader) }
      response = @memory.find { |request, _| request.equal?(leader) }&.last || leader.response
      waiting.each { |request| copy(request, response) }
    end

    def copy(request, response)
      answer = response.dup
      answer.request = request
      request.execute_headers_callbacks(answer)
      request.finish(answer, true)
    end
  end
end
