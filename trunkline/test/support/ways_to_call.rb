# frozen_string_literal: true

# The ways in which a client makes one call, for what must be the same in all of them.
module WaysToCall
  WAYS = {
    alone: ->(http, method, url, options) { http.request(method, url, options) },
    streamed: ->(http, method, url, options) { http.request(method, url, { **options, stream: true }).tap(&:body) },
    batch: ->(http, method, url, options) { http.batch { |batch| batch.request(method, url, options) }.first },
    each: lambda do |http, method, url, options|
      found = nil
      http.each([[method, url, options]]) { |_, result| found = result }
      found
    end,
    map: ->(http, method, url, options) { http.map([[method, url, options]].each_entry).first },
    future: ->(http, method, url, options) { http.async.request(method, url, options).value(10) }
  }.freeze

  # @yield [way, call] call.(client, method, url, options) gives the Response or the error
  def each_way(but: [])
    WAYS.except(*but).each do |way, call|
      yield way, ->(http, method, url, options = {}) { result_of { call.call(http, method, url, options) } }
    end
  end

  def result_of
    yield
  rescue Trunkline::Error, Trunkline::InvalidRequest => error
    error
  end

  # A server whose answers to each target follow one another; the last goes on.
  # @param answers [Hash{String => Array<String, nil>}] nil closes the connection without an answer
  def serve_in_turn(answers)
    counts = Hash.new(0)
    lock = Mutex.new
    serve do |connection|
      while (request = connection.read_request)
        list = answers.fetch(request.target)
        bytes = lock.synchronize { list[[(counts[request.target] += 1) - 1, list.size - 1].min] }
        break unless bytes

        connection << bytes
      end
    end
  end
end
