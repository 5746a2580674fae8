# frozen_string_literal: true

require_relative "arguments"
require_relative "async"
require_relative "batch"
require_relative "block_arity"
require_relative "bounds"
require_relative "call_builder"
require_relative "deadline"
require_relative "engine"
require_relative "lock"
require_relative "pool_handle"
require_relative "memo"
require_relative "of_main_ractor"
require_relative "options"
require_relative "policy"
require_relative "redacted"
require_relative "request_builder"
require_relative "response"
require_relative "scheduler/batch_options"
require_relative "scheduler/each"
require_relative "stats"
require_relative "streams"
require_relative "caller_context"
require_relative "url"

module Trunkline
  # Sends HTTP requests. A client can be shared between threads and used after a fork; make one and keep it.
  #
  # Every verb takes a URL (with a base URL, also a relative one) and options as keywords; Trunkline.new lists them.
  # Only calls, not clients, take body: (String, IO, Pathname, Enumerable or callable; streamed), json:, form:,
  # multipart: and stream:. With a block, the body is yielded chunk by chunk as it arrives (see Response#each), for
  # every status unless raise: true, and Response#body is "". A block with two parameters gets each chunk and the
  # Response. When the block is left early, the connection is closed.
  #
  # A verb raises InvalidRequest or MissingTimeout before anything is sent, ClosedError after #close, and otherwise the
  # error that the request failed with: a ConnectionError, TimeoutError, ProtocolError, BodyError or RedirectError. A
  # status of 4xx or 5xx raises only with raise: true (see Response#raise_for_status!).
  class Client
    include OfMainRactor
    include Redacted
    include Streams

    # Calls with options that only a client can have use a derived client. At most this many are cached.
    MAX_DERIVED_CLIENTS = 32

    # @api private Trunkline.new makes clients
    # @param base [URL, nil] base URL, without userinfo
    # @param options [Options]
    # @param pool_handle [PoolHandle]
    # @raise [InvalidRequest] without a pool handle, as in Client.new, and for invalid options
    def initialize(base = nil, options = nil, pool_handle = nil, **)
      raise InvalidRequest, 'a client is made by Trunkline.new("https://api.test", timeout: 5)' unless pool_handle

      @anchor = OfMainRactor::ANCHOR
      @base = base
      @options = options
      @pool_handle = pool_handle
      @pool = pool_handle.pool
      @requests = RequestBuilder.new(options, base, pool_handle.owner_id)
      @derived_clients = {}
      @lock = Lock.new
      @builder = CallBuilder.new(@requests, options, base, pool_handle) { |changes| derived_client(changes).builder }
      @driver = Policy::ThreadDriver.new(@pool) { |step, deadline, begun| send_once(step, deadline, begun) }
      @no_policy = @builder.policy.nil?
    end

    # All verbs take their options as one positional Hash, which also receives keywords: with **options, Ruby 3.1 would
    # allocate a Hash for every call without options. A third argument, which the verbs of other HTTP clients take,
    # raises InvalidRequest.

    # Sends a GET request: transfers a representation of the resource (RFC 9110 9.3.1).
    # @param url [String, URI, URL, nil] absolute, or relative to the base URL; nil is the base URL
    # @param options [Hash, nil] options of the call, as keywords (docs/options.md)
    # @yield [chunk, response] each chunk of the body as it arrives; a block with one parameter gets only the chunk
    # @return [Response]
    # @raise [InvalidRequest] for an invalid argument
    # @raise [MissingTimeout] when no timeout is set
    # @raise [Error] when the call fails; a subclass says how
    def get(url = nil, options = nil, more = nil, &block)
      call("GET", url, options, more, block)
    end

    # Sends a HEAD request: like GET, without the body (RFC 9110 9.3.2).
    # @return (see #get)
    def head(url = nil, options = nil, more = nil, &block)
      call("HEAD", url, options, more, block)
    end

    # Sends a POST request: the resource processes the content (RFC 9110 9.3.3).
    # @return (see #get)
    def post(url = nil, options = nil, more = nil, &block)
      call("POST", url, options, more, block)
    end

    # Sends a PUT request: the content replaces the resource (RFC 9110 9.3.4).
    # @return (see #get)
    def put(url = nil, options = nil, more = nil, &block)
      call("PUT", url, options, more, block)
    end

    # Sends a PATCH request: the content describes changes to the resource (RFC 5789).
    # @return (see #get)
    def patch(url = nil, options = nil, more = nil, &block)
      call("PATCH", url, options, more, block)
    end

    # Sends a DELETE request: removes the resource (RFC 9110 9.3.5).
    # @return (see #get)
    def delete(url = nil, options = nil, more = nil, &block)
      call("DELETE", url, options, more, block)
    end

    # Sends an OPTIONS request: asks for the methods and capabilities of the resource (RFC 9110 9.3.7).
    # @return (see #get)
    def options(url = nil, options = nil, more = nil, &block)
      call("OPTIONS", url, options, more, block)
    end

    # Sends a TRACE request: the server sends the request back (RFC 9110 9.3.8).
    # @return (see #get)
    def trace(url = nil, options = nil, more = nil, &block)
      call("TRACE", url, options, more, block)
    end

    # Sends a request with any method except CONNECT.
    # @param method [Symbol, String] a Symbol is sent in upper case (:get is "GET"), a String unchanged, because methods
    #   are case-sensitive
    # @param url [String, URI, URL, nil] see #get
    # @param options [Hash, nil] see #get
    # @yield (see #get)
    # @return (see #get)
    def request(method, url = nil, options = nil, more = nil, &block)
      call(method, url, options, more, block)
    end

    # Derives a client with other options.
    #
    # @param options [Hash] the options to change, as keywords. headers:, params:, use:, redact: and a Hash of timeout:
    #   are added to the present values; all others replace them
    # @return [Client] one that shares the connections of this client and is closed with it
    # @raise [InvalidRequest] for an unknown option, an invalid value, and max_idle:
    def with(options = {})
      if Arguments.options(options).key?(:max_idle)
        raise InvalidRequest, "max_idle: belongs to the connections, which with shares: give it to Trunkline.new"
      end

      Client.new(@base, @options.merge(options), @pool_handle)
    end

    # Makes sure that the pool has an idle connection to url.
    #
    # @param url [URL]
    # @return [ConnectionInfo] the connection that was found or opened
    # @raise [ConnectionError, TimeoutError] when no connection can be opened
    # @api private
    def connect(url)
      @pool_handle.refuse_if_closed
      Engine.connect(@pool, @requests.build("HEAD", url, nil, :buffered)).connection
    end

    # See RequestBuilder#raw.
    # @return [Request]
    # @api private
    def raw(method, url, target, fields, content, length, streaming)
      @pool_handle.refuse_if_closed
      @requests.raw(method, url, target, fields, content, length, streaming)
    end

    # Counters of the client's pool, and its limits (docs/stats.md). Clients that share the pool are counted together.
    # @return [Stats] connections, idle, in_use, waiting (calls); opened, reused, taken (opened + reused), closed; the
    #   limits max_idle and max_connections_per_host; #bounds; and the contents of Trunkline.stats
    def stats
      counts = @pool.stats
      Stats.new.merge!(counts, Trunkline.stats,
                       taken: counts[:opened] + counts[:reused], max_idle: @pool_handle.max_idle,
                       max_connections_per_host: @options.max_connections_per_host,
                       bounds: Bounds.of(@options, @pool_handle))
    end

    # Closes this client, every client derived from it by #with, and their idle connections. Futures whose requests have
    # not been sent are cancelled. Calls in flight run to their end, and their connections are closed then; later calls
    # raise ClosedError. Idempotent.
    # @return [nil]
    def close
      @pool_handle.close
    end

    # @return [Boolean] whether this client, or one that shares its connections by #with, was closed
    def closed?
      @pool_handle.closed?
    end

    # Hides credentials.
    # @return [String]
    def inspect
      "#<#{self.class} #{[@base, ("closed" if closed?), @options.inspect].compact.join(" ")}>"
    end

    # Runs requests concurrently until none is left; blocks that receive results may add more.
    #
    #   client.batch do |batch|
    #     urls.each { |url| batch.get(url) { |result| puts result.status } }
    #   end
    #
    # The result of a request that fails is its error. A block that raises ends only its own request; the first such
    # error is raised after all requests have ended, or on_error is called with each.
    #
    # batch, each and map take the same options:
    #
    #   concurrency    maximum number of requests in flight to each origin; :auto, the default, adapts it to the origin
    #   max_in_flight  maximum number of requests in flight in all; default 512, or concurrency if that is larger
    #   rate           maximum number of requests that start in a period, in all: "100/s", "600/min", "5000/h"
    #   progress       true prints a line on a terminal; a callable is called with a Progress a few times a second
    #   reuse_bodies   only for each: true empties a body when its block returns, so that the next one uses its memory
    #   invalid        only for each and map: with :yield, an invalid request has its InvalidRequest as its result; with
    #                  :raise, the default, it is raised
    #   on_cancel      called after an interrupt with each request that has no result; if the requests are not an Array,
    #                  only with those that were pulled
    #
    # @param options [Hash] as keywords; batch also takes on_error, which is called with the error that a block raised
    #   and the request
    # @yield [batch] adds requests to the Batch
    # @return [Array<Response, Error>] the results of requests without a block, in the order they were added. Without a
    #   block here, the Batch, which is run by Batch#run
    # @raise [Exception] the first error that a block raised, after all requests have ended; not with on_error
    # @raise [InvalidRequest] for an invalid option or request
    # @raise [ClosedError] when the client is closed
    def batch(options = nil, &block)
      batch_options, builder = batch_options_and_builder(options)
      batch_options.refuse_reuse_bodies("batch")
      batch_options.refuse_invalid
      BlockArity.check(block, 1, "the batch") { "batch: the block" }
      raise InvalidRequest, "batch: the block must take the batch, to add requests to" if block&.arity&.zero?

      batch = Batch.new(builder, batch_options)
      return batch unless block

      block.call(batch)
      batch.run
    end

    # Sends the requests of an Enumerable concurrently, and yields each result when it is complete. A request is pulled
    # only when it can be sent, so memory does not grow with the number of requests, and the Enumerable may be endless.
    # Leaving the block early (break, raise) cancels the requests in flight.
    #
    #   client.each(File.foreach("urls.txt", chomp: true), concurrency: 50) { |url, result| ... }
    #
    # @param requests [Enumerable, #next_request] requests in the forms of docs/batches.md. An Array is checked as a
    #   whole before anything is sent (unless invalid: is :yield), other sources as requests are pulled. #next_request
    #   is called for one request after another, until it returns nil; if the object also has #context, its value after
    #   each #next_request is yielded in place of the request
    # @param options [Hash] as keywords: see #batch
    # @yield [request, result] the request as given, and its Response or the error that a single call would have raised.
    #   An optional third parameter gets the index of the request
    # @return [nil, Enumerator] an Enumerator without a block
    # @raise [InvalidRequest] for an invalid option or request; the message names the index of the request
    # @raise [ClosedError] when the client is closed
    def each(requests, options = nil, &block)
      # enum_for would show the requests in its inspect, and with them their credentials.
      return Enumerator.new { |results| each(requests, options) { |*pair| results.yield(*pair) } } unless block

      BlockArity.check(block, 2, "request and result") { "each: the block" } unless block.arity == 1
      each_runner(requests, options).run(&BlockArity.ignoring_index(block))
    end

    # Like #each, but returns the results in the order of the requests.
    #
    # @param requests [Enumerable] finite; see #each
    # @param options [Hash] as keywords: see #batch
    # @yield [request, result] the value of the block takes the place of the result
    # @return [Array<Response, Error>]
    # @raise [InvalidRequest] for an invalid option or request; the message names the index of the request
    # @raise [ClosedError] when the client is closed
    def map(requests, options = nil, &block)
      BlockArity.check(block, 2, "request and result") { "map: the block" }
      results = []
      each_runner(requests, options) { |batch_options| batch_options.refuse_reuse_bodies("map") }
        .run { |item, result, index| results[index] = block ? block.call(item, result) : result }
      results
    end

    # The verbs, returning a Future at once: client.async.get(url).then { |response| ... }
    #
    # @return [Async]
    # @raise [ClosedError] when the client is closed
    # @raise [InvalidRequest] for any options; they belong to the call, or to #with
    def async(options = nil)
      Async.refuse(options) if options
      @async ||= Async.new(@builder, batch_options_and_builder(nil).first)
    end

    # Runs a call: sends a request through the policies of the client, as often as they require.
    #
    # @param request [Request]
    # @param values [AttemptValues, nil] callable values of the call
    # @param begun [Array, nil] see #send_once
    # @return [Response]
    # @api private
    def execute(request, values = nil, begun = nil)
      caller_context = CallerContext.current if CallerContext.needed?
      if @no_policy && values.nil? && caller_context.nil? && request.plain?
        return Engine.perform(@pool, request, nil, begun)
      end

      policy = @builder.policy_for(request, values)
      return send_once(request, nil, begun) unless policy || caller_context

      (policy || @builder.bare_policy).perform(request, @driver.with_begun(begun), now, caller_context)
    end

    # Runs one exchange of a call: follows no redirect and answers no authentication challenge.
    #
    # @param request [Request]
    # @param deadline [Float, nil] monotonic seconds
    # @param begun [Array, nil] gets the Response before anything is sent, so that the caller can close it
    # @return [Response]
    # @api private
    def send_once(request, deadline = nil, begun = nil)
      response = Engine.perform(@pool, request, deadline, begun)
      if request.streaming?
        response._mark_streamed
        response._asked_at(caller_location) if $VERBOSE && !begun
      end
      response
    ensure
      # A streamed response can be returned while the body of its request is still being sent.
      request.release unless request.streaming? && response
    end

    protected

    # @return [CallBuilder]
    attr_reader :builder

    # Builds the request of a verb, and executes it.
    #
    # @param call_options [Hash, nil] per-call options
    # @param values [AttemptValues, nil] callable values of the call
    # @param block [Proc, nil] called with the chunks of the body
    # @return [Response]
    def build_and_execute(method, url, call_options, values, block)
      return build_and_stream(method, url, call_options, values, block) if block

      execute(@requests.build(method, url, call_options, :buffered), values)
    end

    # Builds the request that opens a WebSocket, and executes it.
    #
    # @return [Response] with status 101 (HTTP/2: 200) if the server has switched to WebSocket
    def build_and_upgrade(url, call_options, values, begun)
      request = @requests.build("GET", url, call_options, :upgrade)
      if @options.http == :auto && !@pool.takes_websocket?(request)
        return with_http1.build_and_upgrade(url, call_options, values, begun)
      end

      execute(request, values, begun)
    end

    private

    # Like #call, for a request that opens a WebSocket.
    def open_websocket(url, options, begun)
      @pool_handle.refuse_if_closed
      call_options, values = AttemptValues.of_call(options.slice(*Options::PER_CALL))
      derived_client(options.except(*Options::PER_CALL)).build_and_upgrade(url, call_options, values, begun)
    end

    # Checks the arguments of a verb, and makes the call with the client that has its options. Options that only a
    # client can have need a derived client, which is cached: another call with the same options costs one look-up. The
    # block is an ordinary argument, because passing &block on costs more at each level.
    def call(method, url, options, more, block)
      @pool_handle.refuse_if_closed
      Arguments.refuse_third_argument(more) if more
      if options.nil?
        return url.is_a?(Hash) ? call(method, nil, url, nil, block) : build_and_execute(method, url, nil, nil, block)
      end

      Arguments.options(options, Arguments::BODY_HINT)
      return build_and_execute(method, url, options, nil, block) if RequestBuilder.per_call?(options)

      call_options, values = AttemptValues.of_call(options.slice(*Options::PER_CALL))
      derived_client(options.except(*Options::PER_CALL)).build_and_execute(method, url, call_options, values, block)
    end

    # Like #build_and_execute, and yields the chunks of the body to the block.
    def build_and_stream(method, url, call_options, values, block)
      with_response = BlockArity.takes_response?(block)
      response = execute(@requests.build(method, url, call_options, :streamed), values, begun = [])
      with_response ? response.each { |chunk| block.call(chunk, response) } : response.each(&block)
    ensure
      begun&.each(&:close) # also when an interrupt came between the engine and the block
    end

    # A fixed concurrency needs as many connections per host; :auto is limited by max_connections_per_host.
    # @return [Array(Scheduler::BatchOptions, CallBuilder)]
    def batch_options_and_builder(options)
      @pool_handle.refuse_if_closed
      options ||= {}
      raise InvalidRequest.of("options", options, "keywords, such as concurrency: 10") unless options.is_a?(Hash)

      limit = @options.max_connections_per_host
      batch_options = Scheduler::BatchOptions.new(options, limit)
      concurrency = batch_options.concurrency
      return [batch_options, @builder] unless concurrency.is_a?(Integer) && concurrency > limit

      [batch_options, derived_client({ max_connections_per_host: concurrency }).builder]
    end

    def each_runner(requests, options)
      unless (requests.respond_to?(:each) || requests.respond_to?(:next_request)) && !requests.is_a?(Hash)
        raise InvalidRequest.of("requests", requests, "an Enumerable of requests")
      end

      batch_options, builder = batch_options_and_builder(options)
      raise InvalidRequest, "on_error: is for batch: here a block that raises ends it all" if batch_options.on_error

      yield batch_options if block_given?
      Scheduler::Each.new(requests, builder, batch_options)
    end

    def with_http1 = derived_client(http: :h1)

    def derived_client(options)
      return self if options.empty?

      @derived_clients[options] || make_derived_client(options)
    end

    # Made once, since its policies may have state, such as requests in flight or cookies.
    def make_derived_client(options)
      @lock.synchronize do
        @derived_clients[options] ||
          Memo.keep(@derived_clients, MAX_DERIVED_CLIENTS, frozen_copy(options), with(options))
      end
    end

    # The caller may change the values later, but the Hash is a key of the cache.
    def frozen_copy(options)
      options.transform_values { |value| value.is_a?(Enumerable) || value.is_a?(String) ? value.dup.freeze : value }
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    LIB = File.expand_path("..", __dir__)
    private_constant :LIB

    # @return [String] file and line of the calling code outside this library
    def caller_location
      caller_locations.find { |location| !location.path.start_with?(LIB) }.to_s[/\A.+?:\d+/] || "(unknown)"
    end
  end
end
