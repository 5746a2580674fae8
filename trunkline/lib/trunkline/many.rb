# frozen_string_literal: true

require_relative "async"
require_relative "batch"
require_relative "interrupts"
require_relative "many/settings"
require_relative "many/stream"

module Trunkline
  # Many requests at once: the part of Client that batches, streams and futures come from.
  #
  # batch, each and map take the same options:
  #
  #   concurrency    :auto, the default, finds by itself how many requests at a time an origin serves best; an Integer
  #                  is kept to. Both count for each origin
  #   max_in_flight  how many in all; 512, or concurrency if that is more
  #   rate           how many may start in a time, in all: "100/s", "600/min", "5000/h"
  #   progress       true for a line on a terminal, or called with a Progress a few times a second
  #   reuse_bodies   for each alone: true empties each body when its block returns, and reads the next into its memory
  #   on_cancel      called after an interrupt with each request that has no result; of an Enumerable that is no Array,
  #                  with those that were pulled
  module Many
    NO_OPTIONS = {}.freeze
    private_constant :NO_OPTIONS

    # @yield its name, for the error
    # @raise [InvalidRequest] when a block cannot take so many arguments
    # @api private
    def self.check_block(block, count, takes)
      return if block.nil? || !block.lambda? && block.arity.between?(-count - 1, count)

      arity = block.arity
      return if block.lambda? && (arity.negative? ? -arity - 1 <= count : arity == count)

      raise InvalidRequest, "#{yield} must take #{count} argument#{"s" if count > 1} (#{takes}), it takes #{arity}"
    end

    # @api private
    # @return [Proc] that can be given an index too: a block of two plain arguments, which passes by the rest, as it is
    def self.taking_two(block)
      return block if block.arity == 2 && !block.lambda?
      return ->(item, result, _index) { block.call([item, result]) } if block.arity == 1

      ->(item, result, _index) { block.call(item, result) }
    end

    # @api private
    # @raise [InvalidRequest]
    def self.refuse_to_reuse(settings, name)
      raise InvalidRequest, "reuse_bodies: is for each: what #{name} gives is kept" if settings.reuse_bodies
    end

    # Each is told of, whatever on_cancel raises of another; the first that it raises passes through at the end.
    # @api private
    # @param requests [Array<Object>] as they were given
    # @param on_cancel [#call, nil]
    def self.tell_cancelled(requests, on_cancel)
      return if on_cancel.nil?

      errors = requests.filter_map do |request|
        on_cancel.call(request) && nil
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : error
      end
      raise errors.first unless errors.empty?
    end

    # Runs requests side by side until none is left; blocks that take answers may add more.
    #
    #   client.batch do |batch|
    #     urls.each { |url| batch.get(url) { |result| puts result.status } }
    #   end
    #
    # A request that fails gives its error in the place of the Response. A block that raises ends its own request
    # alone; the first such error is raised when all others are done, or each is given to on_error.
    #
    # @param options [Hash] as keywords: see Many; and on_error, called with what a block raised and its request
    # @yield [batch] to add requests to
    # @return [Array<Response, Error>] of the requests without a block, in the order they were added; without a block
    #   here, the Batch, to be run by Batch#run
    # @raise [InvalidRequest]
    # @raise [ClosedError]
    def batch(options = nil, &block)
      settings, client = many(options || {})
      Many.refuse_to_reuse(settings, "batch")
      Many.check_block(block, 1, "the batch") { "batch: the block" }
      raise InvalidRequest, "batch: the block must take the batch, to add requests to" if block&.arity&.zero?

      batch = Batch.new(client, @pool, settings)
      return batch unless block

      block.call(batch)
      batch.run
    end

    # Sends requests as they can be sent, and yields what they come to as it comes. Requests are pulled from any
    # Enumerable, be it endless, no faster than they are sent: memory does not grow with their number. Leaving the
    # block early (break, raise) cancels those in flight.
    #
    #   client.each(File.foreach("urls.txt", chomp: true), concurrency: 50) { |url, result| ... }
    #
    # @param requests [Enumerable] of what names a request: see docs/batches.md. An Array is checked as a whole before
    #   anything is sent, everything else as it is pulled
    # @param options [Hash] as keywords: see Many
    # @yield [request, result] the request as it was given, and its Response, or the error that a single call would
    #   have raised
    # @return [nil, Enumerator]
    # @raise [InvalidRequest] with the index of a request that is none
    # @raise [ClosedError]
    def each(requests, options = nil, &block)
      # That of enum_for would show the requests, and with them their credentials.
      return Enumerator.new { |results| each(requests, options) { |*pair| results.yield(*pair) } } unless block

      Many.check_block(block, 2, "request and result") { "each: the block" } unless block.arity == 1
      stream(requests, options).run(&Many.taking_two(block))
    end

    # As #each, but keeps the order given.
    #
    # @param requests [Enumerable] that ends
    # @param options [Hash] as keywords: see Many
    # @yield [request, result] whose value takes the result's place
    # @return [Array<Response, Error>]
    # @raise [InvalidRequest] with the index of a request that is none
    # @raise [ClosedError]
    def map(requests, options = nil, &block)
      Many.check_block(block, 2, "request and result") { "map: the block" }
      results = []
      stream(requests, options) { |settings| Many.refuse_to_reuse(settings, "map") }.run do |item, result, index|
        results[index] = block ? block.call(item, result) : result
      end
      results
    end

    # The verbs, each giving a Future at once: client.async.get(url).then { |response| ... }
    #
    # @return [Async]
    def async
      @async ||= begin
        settings, client = many({})
        Async.new(client, @pool, settings)
      end
    end

    # @api private composes what a GET without options would send
    # @param url [String]
    def _prepare_get(order, url)
      plan = order.plan = @known_gets[url] || known("GET", url)
      order.terms = @signer ? signed(plan, @terms) : @terms
    end

    # @api private composes what a call would send
    def _prepare(order, method, url, given)
      return _prepare_own(order, method, url, NO_OPTIONS) if given.nil?
      raise InvalidRequest.of("options", given, "a Hash, such as timeout: 2") unless given.is_a?(Hash)

      own = given.slice(*Options::PER_CALL)
      raise InvalidRequest, "stream: cannot be had among many requests: their answers come as a whole" if own[:stream]

      variant(given.except(*Options::PER_CALL))._prepare_own(order, method, url, own)
    end

    # @api private
    def _prepare_own(order, method, url, own)
      plan = own.empty? ? known(method, url) : @composer.plan(method, url, Options.check_call(own))
      terms = own.key?(:follow) ? Terms.of(self, own[:follow]) : @terms
      order.plan = plan
      order.terms = @signer ? signed(plan, terms) : terms
    end

    # @api private
    # @return [Policy::Auth, nil] what signs the requests of a call
    def _auth(plan)
      Policy::Auth.new(@signer, (@base || plan.request.uri).origin, @composer) if @signer
    end

    # @api private
    # @param limit [Integer, false, nil]
    # @return [Policy::Redirect, nil] what follows so many redirects
    def _redirect(limit)
      limit ? Policy::Redirect.new(limit, @composer) : nil
    end

    # @api private RFC 9110 15.5.8: the proxy wants credentials; the server has not been asked.
    # @param response [Response] of status 407
    # @return [Response, Error] what it means to the caller: an error, unless it is the server's own answer
    def _refused(response)
      proxy = @composer.forwarder(response.request.uri)
      proxy ? Proxy.refused(proxy, response) : response
    end

    # @api private An Exception that no rescue is to hide is no result.
    # @param result [Exception]
    def self.raise_unhidden(result)
      raise result unless result.is_a?(StandardError)
    end

    # @api private
    def _deadline(now)
      total = @options.timeout.total
      total && (now + total)
    end

    # @api private
    def _composer
      @composer
    end

    # @api private
    def _refuse_if_closed
      @family.refuse_if_closed
    end

    # @api private
    # @return [Integer]
    def _owner
      @family.owner
    end

    # @api private the family's futures are finished before its connections are closed
    def self.finish(family)
      Switchboard.existing(family.pool)&.finish { |order| order.client._owner == family.owner }
    end

    private

    def signed(plan, terms)
      Terms.of(self, terms.follow, _auth(plan))
    end

    # A fixed number in flight needs as many connections; :auto keeps to max_connections_per_host.
    def many(given)
      @family.refuse_if_closed
      raise InvalidRequest.of("options", given, "keywords, such as concurrency: 10") unless given.is_a?(Hash)

      most = @options.max_connections_per_host
      settings = Settings.new(given, most)
      more = settings.concurrency.is_a?(Integer) && settings.concurrency > most
      [settings, more ? variant({ max_connections_per_host: settings.concurrency }) : self]
    end

    def stream(requests, options)
      unless requests.respond_to?(:each) && !requests.is_a?(Hash)
        raise InvalidRequest.of("requests", requests, "an Enumerable of requests")
      end

      settings, client = many(options || {})
      raise InvalidRequest, "on_error: is for batch: here a block that raises ends it all" if settings.on_error

      yield settings if block_given?
      Stream.new(requests, client, @pool, settings)
    end
  end
end
