# frozen_string_literal: true

require_relative "arguments"
require_relative "future"
require_relative "of_main_ractor"
require_relative "options"
require_relative "redacted"
require_relative "scheduler/future_thread"
require_relative "scheduler/request_reader"
require_relative "verbs"

module Trunkline
  # The verbs of a Client that return Futures (see Client#async). The request runs in the background, whether or not a
  # thread waits for its Future.
  class Async
    include OfMainRactor
    include Redacted
    include Verbs

    # @raise [InvalidRequest] always
    # @api private
    def self.refuse(options)
      known = options.is_a?(Hash) ? options.keys & Options::NAMES : []
      names = known.empty? ? "timeout: 5" : known.map { |name| "#{name}: ..." }.join(", ")
      raise InvalidRequest, "async: takes no options: give them to the call, client.async.get(url, #{names}), or to " \
                            "another client, client.with(#{names}).async"
    end

    # @api private
    # @param builder [CallBuilder]
    # @param options [Scheduler::BatchOptions]
    def initialize(builder, options)
      @anchor = OfMainRactor::ANCHOR
      @builder = builder
      @options = options
      @reader = Scheduler::RequestReader.new(builder)
    end

    # Starts a request. #get, #post and the other verbs do the same for their method.
    # @param method [Symbol, String] HTTP method
    # @param url [String, URI] absolute URL, or one relative to the base URL
    # @param options [Hash, nil] options of the call, as keywords
    # @yield [response] see Future#then
    # @return [Future] of the response; with a block, of the value of the block
    # @raise [InvalidRequest] for an invalid argument
    # @raise [MissingTimeout] when no timeout is set
    # @raise [ClosedError] when the client is closed
    def request(method, url = nil, options = nil, more = nil, &block)
      Arguments.refuse_third_argument(more) if more
      submit([method, url, options], block)
    end

    private

    def submit(item, block)
      pool_handle = @builder.pool_handle
      pool_handle.refuse_if_closed
      pending = Scheduler::PendingRequest.new(item)
      @reader.compose(pending)
      future = pending.callback = Future.new(pending, pool_handle)
      following = block ? future.then(&block) : future
      Scheduler::FutureThread.submit(pool_handle.pool, pending, @options)
      following
    end
  end
end
