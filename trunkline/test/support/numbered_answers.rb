# frozen_string_literal: true

# Servers and clients for tests of cache:.
module NumberedAnswers
  # A server that numbers its answers, and gives each the fields that the block returns for its request: a Hash, or the
  # bytes of the answer.
  def serve_numbered
    count = 0
    lock = Mutex.new
    serve do |connection|
      while (request = connection.read_request)
        number = lock.synchronize { count += 1 }
        given = yield request, number
        break unless given

        connection << (given.is_a?(Hash) ? answer("answer #{number}", **given) : given)
      end
    end
  end

  # @param option [Object] cache:
  def cached(server, option = { store: Trunkline::Cache::Memory.new }, **others)
    client(server.url, cache: option, **others)
  end

  # What the cache has told but the seconds, which pass, and the body.
  def told(response) = [response.cache.to_s.sub(/ttl=-?\d+/, "ttl"), response.body]
end
