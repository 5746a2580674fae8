# frozen_string_literal: true

require_relative "future"
require_relative "many/switchboard"
require_relative "redacted"

module Trunkline
  # The verbs of a Client as Futures (see Client#async): the request runs in the background, whether somebody waits
  # for it or not.
  class Async
    include Redacted

    VERBS = %i[get head post put patch delete options trace].freeze

    # @api private
    # @param settings [Many::Settings]
    def initialize(client, pool, settings)
      @pool = pool
      @client = client
      @settings = settings
      @requests = Many::Requests.new(client)
    end

    VERBS.each do |verb|
      name = verb.name.upcase.freeze
      # @param url [String, URI]
      # @param options [Hash, nil] of a call, as keywords
      # @yield [response] as Future#then
      # @return [Future]
      # @raise [InvalidRequest]
      # @raise [ClosedError]
      define_method(verb) do |url = nil, options = nil, &block|
        submit([name, url, options], block)
      end
    end

    # @param method [Symbol, String]
    # @return [Future]
    # @see #get
    def request(method, url = nil, options = nil, &block)
      submit([method, url, options], block)
    end

    private

    def submit(item, block)
      @client._refuse_if_closed
      future = Future.new
      order = future.order = Many::Order.new(item, 0, future)
      @requests.compose(order)
      following = block ? future.then(&block) : future
      Many::Switchboard.submit(@pool, order, @settings)
      following
    end
  end
end
