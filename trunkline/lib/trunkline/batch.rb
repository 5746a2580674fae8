# frozen_string_literal: true

require_relative "cancelled"
require_relative "interrupts"
require_relative "many/dispatcher"
require_relative "many/requests"
require_relative "progress"
require_relative "redacted"

module Trunkline
  # Requests that run side by side, until none is left (see Client#batch). All are driven by the thread that runs the
  # batch; requests may be added by any thread, and by the blocks that take answers.
  class Batch
    include Redacted

    VERBS = %i[get head post put patch delete options trace].freeze

    # @return [Array<Exception>] what blocks raised, without those that on_error took
    attr_reader :errors
    # @return [Array<Object>] the requests without a result, as they were given, after an interrupt
    attr_reader :cancelled

    # @api private Client#batch is the way in
    def initialize(client, pool, settings)
      @requests = Many::Requests.new(client)
      @dispatcher = Many::Dispatcher.new(pool, settings, @requests)
      @settings = settings
      @progress = Progress::Reporter.for(settings.progress)
      @results = []
      @errors = []
      @cancelled = []
      @inbox = Thread::Queue.new
      @lock = Mutex.new
      @count = 0
    end

    VERBS.each do |verb|
      name = verb.name.upcase.freeze
      # Adds a request.
      # @param url [String, URI]
      # @param options [Hash, nil] of a call, as keywords
      # @yield [result] the Response, or the error that a single call would have raised
      # @return [nil]
      # @raise [InvalidRequest] with the request's index
      define_method(verb) do |url = nil, options = nil, &block|
        push([name, url, options].freeze, block)
      end
    end

    # @param method [Symbol, String]
    # @return [nil]
    # @see #get
    def request(method, url = nil, options = nil, &block)
      push([method, url, options].freeze, block)
    end

    # @param request [String, URI, Array, Hash, Request] anything that names a request (docs/batches.md)
    # @return [nil]
    # @see #get
    def add(request, &block)
      push(request, block)
    end
    alias << add

    # Runs until every request is over.
    #
    # @return [Array<Response, Error>] of the requests that had no block, in the order they were added
    # @raise what a block raised, when there is no on_error
    def run
      begin_to_drive
      drive
      @progress&.finish(@dispatcher)
      raise @errors.first unless @errors.empty?

      @results
    ensure
      end_driving if @driver.equal?(Thread.current)
    end

    # @return [Array<Response, Error, nil>] as #run; nil for those without a result yet
    def results
      @results.dup
    end

    private

    # The driver's own thread, while it does not wait, is the only one that may touch the dispatcher.
    def push(item, block)
      Many.check_block(block, 1, "the result") { "request #{@count}: the block" }
      order = make(item, block)
      if @driver.nil?
        @dispatcher.hold(order)
      elsif @driver.equal?(Thread.current) && !@parked
        @dispatcher.add(order)
      else
        @inbox << order
        @dispatcher.wake
      end
      nil
    end

    def make(item, block)
      @lock.synchronize do
        order = @requests.order(item, @count)
        order.taker = block || @results.size
        @results << nil unless block
        @count += 1
        order
      end
    end

    def begin_to_drive
      @lock.synchronize do
        raise ThreadError, "the batch is running already" if @driver

        @driver = Thread.current
      end
      Interrupts.watch
    end

    def drive
      loop do
        @dispatcher.add(@inbox.pop) until @inbox.empty?
        break if @dispatcher.idle?

        @parked = true
        @dispatcher.turn(@progress && Progress::INTERVAL) do |order, result|
          @parked = false
          deliver(order, result)
        end
        @parked = false
        @progress&.tell(@dispatcher)
      end
    end

    def deliver(order, result)
      Many.raise_unhidden(result) if result.is_a?(Exception)
      @progress&.count(result)
      taker = order.taker
      return @results[taker] = result if taker.is_a?(Integer)

      begin
        taker.call(result)
      rescue StandardError => error
        raise if Interrupts.ended_by?(error)

        failed(error, order)
      end
    end

    def failed(error, order)
      return @errors << error unless @settings.on_error

      @settings.on_error.call(error, order.item)
    end

    def end_driving
      give_up
    ensure
      @driver = nil
    end

    # After an interrupt: each request that has no result is named, and has an error in its place.
    def give_up
      left = @dispatcher.close
      left << @inbox.pop until @inbox.empty?
      left.sort_by!(&:index).each do |order|
        @cancelled << order.item
        @results[order.taker] = Cancelled.of(order) if order.taker.is_a?(Integer)
      end
      Many.tell_cancelled(left.map(&:item), @settings.on_cancel)
    end
  end
end
