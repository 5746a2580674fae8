# frozen_string_literal: true

require_relative "arguments"
require_relative "block_arity"
require_relative "cancelled"
require_relative "interrupts"
require_relative "lock"
require_relative "of_main_ractor"
require_relative "progress"
require_relative "redacted"
require_relative "scheduler"
require_relative "scheduler/request_reader"
require_relative "verbs"

module Trunkline
  # Requests that run concurrently until none is left (see Client#batch). The thread that calls #run drives all
  # exchanges. Any thread, and the blocks that receive results, may add requests.
  class Batch
    include OfMainRactor
    include Redacted
    include Verbs

    # @return [Array<Exception>] errors raised by blocks, except those passed to on_error
    attr_reader :errors
    # @return [Array<Object>] after an interrupt, the requests without a result, in the form the caller gave
    attr_reader :cancelled

    # @api private Client#batch makes batches
    # @param builder [CallBuilder]
    # @param options [Scheduler::BatchOptions]
    def initialize(builder, options)
      @anchor = OfMainRactor::ANCHOR
      @reader = Scheduler::RequestReader.new(builder)
      @scheduler = Scheduler.new(builder.pool_handle.pool, options, @reader)
      @options = options
      @progress = Progress::Reporter.for(options.progress)
      @results = []
      @errors = []
      @cancelled = []
      @inbox = Thread::Queue.new
      @lock = Lock.new
      @count = 0
    end

    # Adds a request. #get, #post and the other verbs do the same for their method.
    # @param method [Symbol, String] HTTP method
    # @param url [String, URI] absolute URL, or one relative to the base URL
    # @param options [Hash, nil] options of the call, as keywords
    # @yield [result] the Response, or the error that a single call would have raised
    # @return [nil]
    # @raise [InvalidRequest] for an invalid argument; the message names the index of the request
    # @raise [ThreadError] in a signal handler while the batch runs
    def request(method, url = nil, options = nil, more = nil, &block)
      Arguments.refuse_third_argument(more) if more
      push([method, url, options].freeze, block)
    end

    # Adds a request whose response is yielded in parts. Redirects and authentication challenges are yielded too.
    #
    # @api private for facades
    # @yield [part] the Response when its head has arrived, a String for each chunk of its body, and nil at the end; or
    #   the Error that ended the request. A block that returns nil or false cancels the request
    # @return [nil]
    # @raise [InvalidRequest] with the index of the request
    def stream(method, url, options, &block)
      push([method, url, options].freeze, block, streamed: true)
    end

    # @param request [String, URI, Array, Hash, Request] a request in any of the forms in docs/batches.md
    # @yield [result] see #request
    # @return [nil]
    # @raise [InvalidRequest] for an invalid request, and for options as a second argument
    # @see #request
    def add(request, options = nil, &block)
      unless options.nil?
        raise InvalidRequest, "add: takes one thing: [:get, url, { timeout: 5 }]; or batch.get(url, timeout: 5)"
      end

      push(request, block)
    end
    alias << add

    # Runs until every request has ended.
    #
    # @return [Array<Response, Error>] results of the requests without a block, in the order they were added
    # @raise [Exception] the first error that a block raised, after all requests have ended; not with on_error
    # @raise [ThreadError] when the batch is running already
    def run
      start
      run_until_idle
      @progress&.finish(@scheduler)
      raise @errors.first unless @errors.empty?

      @results
    ensure
      stop if @runner.equal?(Thread.current)
    end

    # @return [Array<Response, Error, nil>] the same results as #run; nil for requests without a result yet
    def results = @lock.synchronize { @results.dup }

    private

    # The Scheduler may be used only by the thread that runs the batch, and not while run_once waits: another fiber of
    # that thread may add requests then.
    def push(item, block, streamed: false)
      BlockArity.check(block, 1, "the result") { "request #{@count}: the block" }
      pending = Scheduler::PendingRequest.new
      pending.streamed = Scheduler::StreamBlocks::NONE if streamed
      receiver = take(pending, item, block)
      @scheduler.add(pending) if receiver == :scheduler
      @scheduler.wake if receiver == :inbox
      nil
    end

    # A signal handler may have interrupted the Scheduler between any two steps, so it must not add requests to a
    # running batch.
    # @return (see #pass_on)
    def take(pending, item, block)
      @lock.synchronize do |in_handler|
        raise ThreadError, "a signal handler cannot add to a batch that runs" if in_handler && @runner

        @reader.read(item, @count, pending)
        pending.callback = block || @results.size
        @results << nil unless block
        @count += 1
        pass_on(pending)
      end
    end

    # The lock is held, so that the batch neither begins nor ends to run meanwhile.
    # @return [Symbol, nil] :scheduler: the caller must add the request; :inbox: it must wake the runner
    def pass_on(pending)
      if @runner.nil?
        @scheduler.hold(pending)
        nil
      elsif @runner.equal?(Thread.current) && !@waiting
        :scheduler
      else
        @inbox << pending
        :inbox
      end
    end

    def start
      @lock.synchronize do
        raise ThreadError, "the batch is running already" if @runner

        @runner = Thread.current
      end
      Interrupts.watch
    end

    def run_until_idle
      loop do
        @scheduler.add(@inbox.pop) until @inbox.empty?
        break if @scheduler.idle? && over?

        @waiting = true
        @scheduler.run_once(@progress && Progress::INTERVAL) do |pending, result, status|
          @waiting = false
          Interrupts.raise_non_standard_error(result) unless status
          deliver(pending, result)
        end
        @waiting = false
        @progress&.report_if_due(@scheduler)
      end
    end

    # Ends the run, unless another thread has just added a request: requests that are added later wait for the next run.
    def over?
      @lock.synchronize do
        next false unless @inbox.empty?

        @scheduler.close
        @runner = nil
        true
      end
    end

    def deliver(pending, result)
      @progress&.count(result)
      callback = pending.callback
      return @lock.synchronize { @results[callback] = result } if callback.is_a?(Integer)

      begin
        continue = callback.call(result)
        @scheduler.cancel(pending) if !continue && pending.streamed == Scheduler::StreamBlocks::NONE
      rescue StandardError => error
        raise if Interrupts.ended_by?(error)

        failed(error, pending)
      end
    end

    def failed(error, pending)
      return @errors << error unless @options.on_error

      @options.on_error.call(error, pending.item)
    end

    # After an interrupt: adds each request without a result to #cancelled, and puts a Cancelled in its place in the
    # results.
    def stop
      left = take_unfinished
      left.sort_by!(&:index).each do |pending|
        @cancelled << pending.item
        @results[pending.callback] = Cancelled.of(pending) if pending.callback.is_a?(Integer)
      end
      Cancelled.notify(left.map(&:item), @options.on_cancel)
    end

    def take_unfinished
      @lock.synchronize do
        left = @scheduler.close
        left << @inbox.pop until @inbox.empty?
        left
      ensure
        @runner = nil
      end
    end
  end
end
