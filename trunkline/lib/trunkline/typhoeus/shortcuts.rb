# frozen_string_literal: true

# Requests as curl makes them, one at a time or many side by side. See trunkline/typhoeus.
module Typhoeus
  # The edition whose API this is; libraries ask for it.
  VERSION = "1.7.1"

  extend Request::Actions
  extend Request::Callbacks::Types

  # Closes idle connections: what was kept between requests. (There are no handles to keep.)
  module Pool
    # @return [Array] empty
    def self.clear
      family = ::Trunkline::TyphoeusFace::Recipe.family
      family.pool.close_idle(family.owner)
      []
    end
  end

  class << self
    # @yield [Config]
    def configure
      yield Config
    end

    # Has requests answered without the network.
    #
    # @param base_url [String, Regexp, nil] as a request's base_url; nil matches all
    # @param options [Hash] that a request must have
    # @yield [request] gives the Response
    # @return [Expectation]
    def stub(base_url, options = {}, &block)
      expectation = Expectation.all.find { |known| known.base_url == base_url && known.options == options }
      expectation ||= Expectation.new(base_url, options).tap { |made| Expectation.all << made }
      expectation.and_return(&block) if block
      expectation
    end

    # Adds a block that is called before each request: a Response that it returns is the answer; nil or false and the
    # request is not made.
    #
    # @yield [request]
    # @return [Array<Proc>] all of them
    def before(&block)
      @before ||= []
      @before << block if block
      @before
    end

    # Lets this thread's requests through, whatever is blocked or stubbed, while the block runs.
    def with_connection
      thread = Thread.current
      depth = thread.thread_variable_get(:typhoeus_connected).to_i
      thread.thread_variable_set(:typhoeus_connected, depth + 1)
      yield if block_given?
    ensure
      # What is there now, not what was: fibers of one thread may leave in another order than they came.
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
    def before_blocks_for(request)
      own = request.before_blocks
      return if (@before.nil? || @before.empty?) && (own.nil? || own.empty?)
      return unless Config.feature_enabled?(:before)

      [*@before, *own]
    end
  end
end
