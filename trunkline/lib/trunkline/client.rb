# frozen_string_literal: true

require_relative "arguments"
require_relative "async"
require_relative "batch"
require_relative "block_arity"
require_relative "bounds"
require_relative "call_builder"
require_relative "deadline"
require_relative "engine"
require_relative "family"
require_relative "memo"
require_relative "options"
require_relative "policy"
require_relative "redacted"
require_relative "request_builder"
require_relative "response"
require_relative "scheduler/batch_options"
require_relative "scheduler/each"
require_relative "stats"
require_relative "streams"
require_relative "surroundings"
require_relative "url"

module Trunkline
  # Makes calls. Safe to share between threads and across fork; make one and keep it.
  #
  # Every verb takes a URL (or, with a base URL, a path below it) and options as keywords; Trunkline.new lists them.
  # Of a call alone are body: (String, IO, Pathname, Enumerable or callable; streamed), json:, form:, multipart: and
  # stream:. With a block, the body is yielded chunk by chunk as it comes (see Response#each), whatever the status
  # unless raise: true, and the Response's own body is ""; a block of two parameters gets the Response with each chunk.
  # Leaving the block early closes the connection.
  #
  # A verb raises InvalidRequest or MissingTimeout before anything is sent, ClosedError after #close, and otherwise
  # what its request met: a ConnectionError, TimeoutError, ProtocolError, BodyError or RedirectError. A status of 4xx
  # or 5xx raises nothing, unless raise: true (see Response#raise_for_status!).
  class Client
    include Redacted
    include Streams

    # A client is made once for each set of lasting options that calls give.
    KNOWN_VARIANTS = 32

    # @api private Trunkline.new is the way in
    # @param base [URL, nil]
    # @param options [Options]
    # @param family [Family]
    # @raise [InvalidRequest]
    def initialize(base = nil, options = nil, family = nil, **)
      raise InvalidRequest, 'a client is made by Trunkline.new("https://api.test", timeout: 5)' unless family

      @base = base
      @options = options
      @family = family
      @pool = family.pool
      @requests = RequestBuilder.new(options, base, family.owner)
      @variants = {}
      @builder = CallBuilder.new(@requests, options, base, family) { |lasting| variant(lasting).builder }
      @driver = Policy::ThreadDriver.new(@pool) { |step, deadline, begun| send_once(step, deadline, begun) }
      @final = @builder.policy.nil?
    end

    # In all verbs the options are one positional Hash, which takes keywords just as well: with **options, Ruby 3.1
    # would make a Hash for every call that gives none. A third one, which there is with other clients, is refused.

    # Transfers a representation (RFC 9110 9.3.1).
    # @param url [String, URI, URL, nil] nil is the base URL
    # @param options [Hash, nil] as keywords
    # @yield [chunk, response] the body, as it comes; a block of one parameter gets the chunk alone
    # @return [Response]
    def get(url = nil, options = nil, more = nil, &block)
      call("GET", url, options, more, block)
    end

    # As GET, without the body (RFC 9110 9.3.2).
    # @return (see #get)
    def head(url = nil, options = nil, more = nil, &block)
      call("HEAD", url, options, more, block)
    end

    # Has the content processed (RFC 9110 9.3.3).
    # @return (see #get)
    def post(url = nil, options = nil, more = nil, &block)
      call("POST", url, options, more, block)
    end

    # Puts the content in the place of what is there (RFC 9110 9.3.4).
    # @return (see #get)
    def put(url = nil, options = nil, more = nil, &block)
      call("PUT", url, options, more, block)
    end

    # Changes what is there (RFC 5789).
    # @return (see #get)
    def patch(url = nil, options = nil, more = nil, &block)
      call("PATCH", url, options, more, block)
    end

    # Removes what is there (RFC 9110 9.3.5).
    # @return (see #get)
    def delete(url = nil, options = nil, more = nil, &block)
      call("DELETE", url, options, more, block)
    end

    # Asks what can be done (RFC 9110 9.3.7).
    # @return (see #get)
    def options(url = nil, options = nil, more = nil, &block)
      call("OPTIONS", url, options, more, block)
    end

    # Has the request sent back (RFC 9110 9.3.8).
    # @return (see #get)
    def trace(url = nil, options = nil, more = nil, &block)
      call("TRACE", url, options, more, block)
    end

    # Any method.
    # @param method [Symbol, String] :get is "GET"; a String is sent as it is: methods tell upper from lower case
    # @return (see #get)
    def request(method, url = nil, options = nil, more = nil, &block)
      call(method, url, options, more, block)
    end

    # @param options [Hash] what is to differ, as keywords; headers: and params: are added to those there are
    # @return [Client] that shares this one's connections, and is closed with it
    # @raise [InvalidRequest]
    def with(options = {})
      if Arguments.options(options).key?(:max_idle)
        raise InvalidRequest, "max_idle: belongs to the connections, which with shares: give it to Trunkline.new"
      end

      Client.new(@base, @options.merge(options), @family)
    end

    # Sees to it that a connection to url is open and idle.
    #
    # @param url [URL]
    # @return [ConnectionInfo] the one that was found or made
    # @raise [ConnectionError, TimeoutError]
    # @api private
    def connect(url)
      @family.refuse_if_closed
      Engine.connect(@pool, @requests.build("HEAD", url, nil, false)).connection
    end

    # As RequestBuilder#raw.
    # @return [Request]
    # @api private
    def raw(method, url, target, fields, content, length, streaming)
      @family.refuse_if_closed
      @requests.raw(method, url, target, fields, content, length, streaming)
    end

    # What the pool holds now and has done. It counts every client that shares it.
    # @return [Stats] connections, idle, in_use, waiting (callers); opened, reused, taken (opened or reused), closed;
    #   the limits max_idle and max_connections_per_host; #bounds; and what Trunkline.stats tells (docs/stats.md)
    def stats
      counts = @pool.stats
      Stats.new.merge!(counts, Trunkline.stats,
                       taken: counts[:opened] + counts[:reused], max_idle: @family.max_idle,
                       max_connections_per_host: @options.max_connections_per_host,
                       bounds: Bounds.of(@options, @family))
    end

    # Closes this client, every one made from it by #with, and their idle connections. Calls under way end as they
    # would have, and their connections with them; further ones raise ClosedError. Idempotent.
    # @return [nil]
    def close
      @family.close
    end

    # @return [Boolean]
    def closed?
      @family.closed?
    end

    # Credentials are not shown.
    # @return [String]
    def inspect
      "#<#{self.class} #{[@base, ("closed" if closed?), @options.inspect].compact.join(" ")}>"
    end

    # Runs requests side by side until none is left; blocks that take results may add more.
    #
    #   client.batch do |batch|
    #     urls.each { |url| batch.get(url) { |result| puts result.status } }
    #   end
    #
    # A request that fails has its error as its result. A block that raises ends its own request alone; the first such
    # error is raised when all others are done, or each is given to on_error.
    #
    # batch, each and map take the same options:
    #
    #   concurrency    how many requests may be in flight to each origin; :auto, the default, finds the number that it
    #                  serves best
    #   max_in_flight  how many in all; 512, or concurrency if that is more
    #   rate           how many may start in a period, in all: "100/s", "600/min", "5000/h"
    #   progress       true for a line on a terminal, or called with a Progress a few times a second
    #   reuse_bodies   for each alone: true empties each body when its block returns, and reads the next into its memory
    #   invalid        for each and map: :yield has the InvalidRequest of a request that is none as its result; :raise
    #   on_cancel      called after an interrupt with each request that has no result; of an Enumerable that is no
    #                  Array, with those that were pulled
    #
    # @param options [Hash] as keywords; for batch also on_error, called with what a block raised and its request
    # @yield [batch] to add requests to
    # @return [Array<Response, Error>] of the requests without a block, in the order they were added; without a block
    #   here, the Batch, to be run by Batch#run
    # @raise [InvalidRequest]
    # @raise [ClosedError]
    def batch(options = nil, &block)
      batch_options, builder = side_by_side(options)
      batch_options.refuse_reuse_bodies("batch")
      batch_options.refuse_invalid
      BlockArity.check(block, 1, "the batch") { "batch: the block" }
      raise InvalidRequest, "batch: the block must take the batch, to add requests to" if block&.arity&.zero?

      batch = Batch.new(builder, batch_options)
      return batch unless block

      block.call(batch)
      batch.run
    end

    # Sends requests as they can be sent, and yields each result as it comes. Requests are pulled from any Enumerable,
    # be it endless, no faster than they are sent: memory does not grow with their number. Leaving the block early
    # (break, raise) cancels those in flight.
    #
    #   client.each(File.foreach("urls.txt", chomp: true), concurrency: 50) { |url, result| ... }
    #
    # @param requests [Enumerable, #next_request] in the forms of docs/batches.md. An Array is checked whole before
    #   anything is sent, everything else as it is pulled. What has #next_request is asked for one after another, until
    #   nil; when it has #context, too, what that gives then is yielded in the request's place
    # @param options [Hash] as keywords: see #batch
    # @yield [request, result] the request as it was given, and its Response, or the error that a single call would
    #   have raised; a third parameter that is optional gets the index of the request among all
    # @return [nil, Enumerator]
    # @raise [InvalidRequest] with the index of a request that is none
    # @raise [ClosedError]
    def each(requests, options = nil, &block)
      # enum_for would show the requests, and with them their credentials.
      return Enumerator.new { |results| each(requests, options) { |*pair| results.yield(*pair) } } unless block

      BlockArity.check(block, 2, "request and result") { "each: the block" } unless block.arity == 1
      pulled(requests, options).run(&BlockArity.ignoring_index(block))
    end

    # As #each, but keeps the order given.
    #
    # @param requests [Enumerable] that ends
    # @param options [Hash] as keywords: see #batch
    # @yield [request, result] whose value is returned in the result's place
    # @return [Array<Response, Error>]
    # @raise [InvalidRequest] with the index of a request that is none
    # @raise [ClosedError]
    def map(requests, options = nil, &block)
      BlockArity.check(block, 2, "request and result") { "map: the block" }
      results = []
      pulled(requests, options) { |batch_options| batch_options.refuse_reuse_bodies("map") }
        .run { |item, result, index| results[index] = block ? block.call(item, result) : result }
      results
    end

    # The verbs, each giving a Future at once: client.async.get(url).then { |response| ... }
    #
    # @return [Async]
    # @raise [ClosedError]
    # @raise [InvalidRequest] for options: they are given to the call, or to #with
    def async(options = nil)
      Async.refuse(options) if options
      @async ||= Async.new(@builder, side_by_side(nil).first)
    end

    # Takes a request that #raw has made through the client's policies.
    # @param request [Request]
    # @return [Response]
    # @api private
    def perform(request) = finish(request, nil, nil, (Surroundings.current if Surroundings.needed?))

    # Sends a request as it is, once: no redirect is followed, no challenge answered.
    #
    # @param request [Request]
    # @param deadline [Float, nil] monotonic seconds
    # @param begun [Array, nil] takes the Response before anything is sent, for whoever must close it
    # @return [Response]
    # @api private
    def send_once(request, deadline = nil, begun = nil)
      response = Engine.perform(@pool, request, deadline, begun)
      if request.streaming?
        response._streamed
        response._asked_at(place_of_caller) if $VERBOSE && !begun
      end
      response
    ensure
      # A streamed answer may be here while the body is still on its way.
      request.release unless request.streaming? && response
    end

    protected

    # @return [CallBuilder]
    attr_reader :builder

    # @param own [Hash, nil] options of the call alone
    # @param values [AttemptValues, nil] of the call
    # @param block [Proc, nil] takes the chunks of the body
    # @return [Response]
    def execute(method, url, own, values, block)
      return stream(method, url, own, values, block) if block

      request = @requests.build(method, url, own, false)
      surroundings = Surroundings.current if Surroundings.needed?
      plain = @final && values.nil? && surroundings.nil? && request.plain?
      plain ? Engine.perform(@pool, request, nil, nil) : finish(request, values, nil, surroundings)
    end

    # @return [Response] of status 101, if the server has switched; over HTTP/2 of status 200
    def switched(url, own, values, begun)
      request = @requests.build("GET", url, own, :upgrade)
      return with_http1.switched(url, own, values, begun) if @options.http == :auto && !@pool.takes_websocket?(request)

      surroundings = Surroundings.current if Surroundings.needed?
      finish(request, values, begun, surroundings)
    end

    private

    # As #call, with a request that asks for a WebSocket.
    def switch(url, options, begun)
      @family.refuse_if_closed
      own = AttemptValues.of_call(options.slice(*Options::PER_CALL))
      variant(options.except(*Options::PER_CALL)).switched(url, *own, begun)
    end

    # Options that hold for more than a call make another client, which is kept: a call that names them again costs
    # a look-up. The block is an ordinary argument, which costs less each time that it is handed on.
    def call(method, url, options, more, block)
      @family.refuse_if_closed
      Arguments.refuse_third(more) if more
      if options.nil?
        return url.is_a?(Hash) ? call(method, nil, url, nil, block) : execute(method, url, nil, nil, block)
      end

      Arguments.options(options, Arguments::PLACES)
      return execute(method, url, options, nil, block) if RequestBuilder.per_call?(options)

      own, values = AttemptValues.of_call(options.slice(*Options::PER_CALL))
      variant(options.except(*Options::PER_CALL)).execute(method, url, own, values, block)
    end

    def stream(method, url, own, values, block)
      with_response = BlockArity.takes_response?(block)
      surroundings = Surroundings.current if Surroundings.needed?
      response = finish(@requests.build(method, url, own, true), values, begun = [], surroundings)
      with_response ? response.each { |chunk| block.call(chunk, response) } : response.each(&block)
    ensure
      begun&.each(&:close) # whatever comes between the engine and the block, such as an interrupt
    end

    # Takes a request through its policies, if it has some, to its answer.
    def finish(request, values, begun, surroundings)
      policy = @builder.policy_for(request, values)
      return send_once(request, nil, begun) unless policy || surroundings

      (policy || @builder.plain).perform(request, @driver.noting(begun), now, surroundings)
    end

    # A fixed number in flight needs as many connections; :auto keeps to max_connections_per_host.
    # @return [Array(Scheduler::BatchOptions, CallBuilder)]
    def side_by_side(given)
      @family.refuse_if_closed
      given ||= {}
      raise InvalidRequest.of("options", given, "keywords, such as concurrency: 10") unless given.is_a?(Hash)

      most = @options.max_connections_per_host
      options = Scheduler::BatchOptions.new(given, most)
      more = options.concurrency.is_a?(Integer) && options.concurrency > most
      [options, more ? variant({ max_connections_per_host: options.concurrency }).builder : @builder]
    end

    def pulled(requests, options)
      unless (requests.respond_to?(:each) || requests.respond_to?(:next_request)) && !requests.is_a?(Hash)
        raise InvalidRequest.of("requests", requests, "an Enumerable of requests")
      end

      batch_options, builder = side_by_side(options)
      raise InvalidRequest, "on_error: is for batch: here a block that raises ends it all" if batch_options.on_error

      yield batch_options if block_given?
      Scheduler::Each.new(requests, builder, batch_options)
    end

    def with_http1 = variant(http: :h1)

    def variant(options)
      return self if options.empty?

      @variants[options] || Memo.keep(@variants, KNOWN_VARIANTS, frozen_copy(options), with(options))
    end

    # The caller may change what it gave; a key must not.
    def frozen_copy(options)
      options.transform_values { |value| value.is_a?(Enumerable) || value.is_a?(String) ? value.dup.freeze : value }
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    LIB = File.expand_path("..", __dir__)
    private_constant :LIB

    # @return [String] where the caller's own code stands
    def place_of_caller
      caller_locations.find { |location| !location.path.start_with?(LIB) }.to_s[/\A.+?:\d+/] || "(unknown)"
    end
  end
end
