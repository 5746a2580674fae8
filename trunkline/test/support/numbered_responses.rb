# frozen_string_literal: true

# Servers and clients for tests of cache:.
module NumberedResponses
  # A server that numbers its responses, and adds to each the fields that the block returns for the request: a Hash; or
  # the block returns the bytes of the response.
  def serve_numbered
    count = 0
    lock = Mutex.new
    serve do |connection|
      while (request = connection.read_request)
        number = lock.synchronize { count += 1 }
        response = yield request, number
        break unless response

        connection << (response.is_a?(Hash) ? response_bytes("answer #{number}", **response) : response)
      end
    end
  end

  # @param option [Object] the value of cache:
  def cached(server, option = { store: Trunkline::Cache::Memory.new }, **others)
    client(server.url, cache: option, **others)
  end

  # The status of the cache, without the seconds, which change, and the body.
  def status_and_body(response) = [response.cache.to_s.sub(/ttl=-?\d+/, "ttl"), response.body]
end
