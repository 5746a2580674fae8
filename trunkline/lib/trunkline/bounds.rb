# frozen_string_literal: true

require_relative "cache"
require_relative "cookie_jar"
require_relative "engine"
require_relative "event_source"
require_relative "event_stream_parser"
require_relative "json_stream"
require_relative "limiter"
require_relative "limiter/memory"
require_relative "options"
require_relative "policy/auth"
require_relative "policy/state"
require_relative "response"
require_relative "scheduler"
require_relative "scheduler/batch_options"
require_relative "websocket"

module Trunkline
  # All limits that apply to a client, named as in docs/limits.md; a test compares the two.
  #
  # @api private
  module Bounds
    # Limits that no option of a client changes. max_in_flight is the default of the option of a batch.
    FIXED = Engine::BOUNDS.merge(
      max_in_flight: Scheduler::BatchOptions::MAX_IN_FLIGHT, origins: Scheduler::Origins::MOST,
      held_back: Scheduler::LOOK_AHEAD, origins_remembered: Limiter::Memory::MOST,
      retry_after: Limiter::LONGEST_PAUSE, challenges: Policy::Auth::CHALLENGES,
      discarded_bytes: Response::DISCARD_BYTES,
      cookies: CookieJar::MAX_COOKIES, cookies_per_domain: CookieJar::MAX_PER_DOMAIN,
      origins_of_policies: Policy::State::MOST, cache_bytes: Cache::Memory::MAX_BYTES,
      cache_entry_bytes: Cache::MAX_ENTRY_BYTES, event_bytes: EventStreamParser::LIMIT,
      event_source_wait: EventSource::LONGEST_WAIT,
      json_value_bytes: JSONStream::VALUE_BYTES,
      websocket_message_bytes: WebSocket::MAX_MESSAGE_BYTES
    ).freeze

    # @param options [Options]
    # @param pool_handle [PoolHandle]
    # @return [Hash{Symbol => Numeric, Hash, nil}] nil: no limit
    def self.of(options, pool_handle)
      limits = Options::LIMITS.to_h { |name| [name, options.public_send(name)] }
      limits.merge(FIXED, Engine.process_stats.slice(*Options::PROCESS_LIMITS),
                   timeout: options.timeout&.to_h, max_idle: pool_handle.max_idle,
                   derived_clients: Client::MAX_DERIVED_CLIENTS)
    end
  end
end
