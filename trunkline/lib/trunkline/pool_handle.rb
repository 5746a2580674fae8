# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "instrument"
require_relative "loading"
require_relative "lock"
require_relative "of_main_ractor"
require_relative "redacted"

module Trunkline
  # A client and the clients derived from it by #with. They share a pool and an owner id in it, and are closed together.
  #
  # @api private
  class PoolHandle
    include OfMainRactor
    include Redacted

    # Maximum idle connections in the pool of the process, unless another number is configured before the first client.
    MAX_IDLE = 256
    LOCK = Lock.new
    private_constant :LOCK

    @last = 0
    @shared = nil

    class << self
      # @param max_idle [Integer, nil] size of a pool for this handle alone; nil: the pool of the process
      # @param default [Integer, nil] size of the pool of the process, if this call creates it
      # @return [PoolHandle]
      def make(max_idle = nil, default: nil)
        load_webmock_adapter
        Instrument.client_created
        LOCK.synchronize do
          @last += 1
          next new(Engine::Pool.new(max_idle), max_idle, @last) if max_idle

          @shared ||= [Engine::Pool.new(default || MAX_IDLE), default || MAX_IDLE].freeze
          new(*@shared, @last)
        end
      end

      # @return [Array<Engine::Pool>] all pools of the process
      def pools = Engine::Pool.all

      private

      # WebMock may be loaded before or after this gem, so each new client checks for it.
      def load_webmock_adapter
        return if !defined?(::WebMock::HttpLibAdapter) || defined?(::WebMock::HttpLibAdapters::TrunklineAdapter)

        Loading.in_thread_if_needed { require_relative "webmock" }
      end
    end

    # @return [Engine::Pool]
    attr_reader :pool
    # @return [Integer]
    attr_reader :max_idle
    # @return [Integer]
    attr_reader :owner_id

    def initialize(pool, max_idle, owner_id)
      @anchor = OfMainRactor::ANCHOR
      @pool = pool
      @max_idle = max_idle
      @owner_id = owner_id
      @closed = false
    end

    # @return [Boolean]
    def closed? = @closed

    # Cancels futures whose requests have not been sent, waits for those in flight, and closes idle connections.
    # @return [nil]
    def close
      @closed = true
      Scheduler::FutureThread.finish(self)
      @pool.close_idle(@owner_id)
      nil
    end

    # @raise [ClosedError] after #close
    def refuse_if_closed
      return unless @closed

      raise ClosedError.new("the client was closed; nothing was sent; make another with Trunkline.new",
                            phase: :queue, sent: :none)
    end
  end
end
