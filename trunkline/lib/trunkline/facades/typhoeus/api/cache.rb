# frozen_string_literal: true

module Typhoeus
  # Caches of responses, for Config.cache and a request's cache:. Any object with get(request) and set(request,
  # response) can be one. default_ttl: is in seconds, for requests without a cache_ttl:.
  module Cache
    # Stores responses in memcached.
    class Dalli
      # @param client [Dalli::Client]
      def initialize(client = ::Dalli::Client.new, options = {})
        @client = client
        @default_ttl = options[:default_ttl]
      end

      # @return [Response, nil]
      def get(request)
        @client.get(request.cache_key)
      end

      def set(request, response)
        @client.set(request.cache_key, response, request.cache_ttl || @default_ttl)
      end
    end

    # Stores responses in Redis, serialized by Marshal.
    class Redis
      # @param redis [Redis]
      def initialize(redis = ::Redis.new, options = {})
        @redis = redis
        @default_ttl = options[:default_ttl]
      end

      # @return [Response, nil]
      def get(request)
        stored = @redis.get(request.cache_key)
        # The value was written by #set: a Redis that others can write to must not be used as a cache.
        stored && Marshal.load(stored) # rubocop:disable Security/MarshalLoad
      end

      def set(request, response)
        key = request.cache_key
        seconds = request.cache_ttl || @default_ttl
        @redis.set(key, Marshal.dump(response))
        @redis.expire(key, seconds) if seconds
      end
    end

    # Stores responses in an ActiveSupport cache.
    class Rails
      # @param cache [ActiveSupport::Cache::Store]
      def initialize(cache = ::Rails.cache, options = {})
        @cache = cache
        @default_ttl = options[:default_ttl]
      end

      # @return [Response, nil]
      def get(request)
        @cache.read(request.cache_key)
      end

      def set(request, response)
        @cache.write(request.cache_key, response, expires_in: request.cache_ttl || @default_ttl)
      end
    end
  end
end
