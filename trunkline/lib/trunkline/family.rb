# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "instrument"
require_relative "loading"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # A client and the clients made from it by #with: they share a pool, an owner id in it, and are closed together.
  #
  # @api private
  class Family
    include Redacted

    # Idle connections that the process's own pool keeps, unless configured otherwise before the first client.
    MAX_IDLE = 256
    LOCK = Lock.new
    private_constant :LOCK

    @last = 0
    @shared = nil

    class << self
      # @param max_idle [Integer, nil] nil for the pool of the process, which all such families share; a number for a
      #   pool of its own
      # @param default [Integer, nil] size of the process's pool, when this makes it
      # @return [Family]
      def make(max_idle = nil, default: nil)
        meet_webmock
        Instrument.client_is_made
        LOCK.synchronize do
          @last += 1
          next new(Engine::Pool.new(max_idle), max_idle, @last) if max_idle

          @shared ||= [Engine::Pool.new(default || MAX_IDLE), default || MAX_IDLE].freeze
          new(*@shared, @last)
        end
      end

      # @return [Array<Engine::Pool>] of the process
      def pools = Engine::Pool.all

      private

      # WebMock may be loaded before or after this gem, so it is looked for when a client is made.
      def meet_webmock
        return if !defined?(::WebMock::HttpLibAdapter) || defined?(::WebMock::HttpLibAdapters::TrunklineAdapter)

        Loading.apart { require_relative "webmock" }
      end
    end

    # @return [Engine::Pool]
    attr_reader :pool
    # @return [Integer]
    attr_reader :max_idle
    # @return [Integer]
    attr_reader :owner

    def initialize(pool, max_idle, owner)
      @pool = pool
      @max_idle = max_idle
      @owner = owner
      @closed = false
    end

    # @return [Boolean]
    def closed? = @closed

    # @return [nil]
    def close
      @closed = true
      Scheduler::FutureThread.finish(self)
      @pool.close_idle(@owner)
      nil
    end

    # @raise [ClosedError]
    def refuse_if_closed
      return unless @closed

      raise ClosedError.new("the client was closed; nothing was sent; make another with Trunkline.new",
                            phase: :queue, sent: :none)
    end
  end
end
