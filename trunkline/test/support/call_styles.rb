# frozen_string_literal: true

# The styles in which a client makes one call, for behaviour that must be the same in all of them.
module CallStyles
  CALL_STYLES = {
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

  # @yield [style, call] call.(client, method, url, options) returns the Response or the error
  def each_call_style(but: [])
    CALL_STYLES.except(*but).each do |style, call|
      yield style, ->(http, method, url, options = {}) { result_of { call.call(http, method, url, options) } }
    end
  end

  def result_of
    yield
  rescue Trunkline::Error, Trunkline::InvalidRequest => error
    error
  end

  # A server with a sequence of responses for each target; the last one is repeated.
  # @param responses [Hash{String => Array<String, nil>}] nil closes the connection without a response
  def serve_sequence(responses)
    counts = Hash.new(0)
    lock = Mutex.new
    serve do |connection|
      while (request = connection.read_request)
        list = responses.fetch(request.target)
        bytes = lock.synchronize { list[[(counts[request.target] += 1) - 1, list.size - 1].min] }
        break unless bytes

        connection << bytes
      end
    end
  end
end
