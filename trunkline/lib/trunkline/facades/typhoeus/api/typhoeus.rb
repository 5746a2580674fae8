# frozen_string_literal: true

require_relative "config"
require_relative "expectation"
require_relative "request"

# Runs requests one at a time, or many concurrently in a Hydra. See trunkline/typhoeus.
module Typhoeus
  # The version of Typhoeus with this API; libraries read it.
  VERSION = "1.7.1"

  extend Request::Actions
  extend Request::Callbacks::Types

  # Typhoeus keeps handles between requests; this facade keeps connections.
  module Pool
    # Closes idle connections.
    # @return [Array] empty
    def self.clear
      ::Trunkline::Facades::Typhoeus::RequestConfig.connections.close_idle
      []
    end
  end

  class << self
    # @yield [Config]
    def configure
      yield Config
    end

    # Makes a stub: requests that match get its response, without the network.
    #
    # @param base_url [String, Regexp, nil] compared with a request's base_url; nil matches all
    # @param options [Hash] options that a request must have
    # @yield [request] returns the Response
    # @return [Expectation]
    def stub(base_url, options = {}, &block)
      expectation = Expectation.all.find { |known| known.base_url == base_url && known.options == options }
      expectation ||= Expectation.new(base_url, options).tap { |made| Expectation.all << made }
      expectation.and_return(&block) if block
      expectation
    end

    # Adds a block that is called before each request. A Response that it returns is the request's response; after nil
    # or false the request is not sent.
    #
    # @yield [request]
    # @return [Array<Proc>] all blocks
    def before(&block)
      @before ||= []
      @before << block if block
      @before
    end

    # Sends this thread's requests, regardless of stubs and blocked connections, while the block runs.
    def with_connection
      thread = Thread.current
      depth = thread.thread_variable_get(:typhoeus_connected).to_i
      thread.thread_variable_set(:typhoeus_connected, depth + 1)
      yield if block_given?
    ensure
      # The depth is read again: fibers of one thread may leave the block in another order than they entered it.
      now = thread.thread_variable_get(:typhoeus_connected).to_i - 1
      thread.thread_variable_set(:typhoeus_connected, now.positive? ? now : nil)
    end

    # @api private
    def connection_blocked?
      Config.block_connection && !stubs_disabled?
    end

    # @api private
    def stubs_disabled?
      !Thread.current.thread_variable_get(:typhoeus_connected).nil?
    end

    # @api private
    # @return [Array<Proc>, nil]
    def before_callbacks_for(request)
      request_callbacks = request.before_blocks
      return if (@before.nil? || @before.empty?) && (request_callbacks.nil? || request_callbacks.empty?)
      return unless Config.feature_enabled?(:before)

      [*@before, *request_callbacks]
    end
  end
end
