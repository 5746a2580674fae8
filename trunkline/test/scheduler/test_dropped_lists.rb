# frozen_string_literal: true

require_relative "../test_helper"

# Lists and batches in a fiber that nobody goes on with: what they hold is there again for others.
class TestDroppedLists < TrunklineTest
  URLS = %w[/0 /1 /2].freeze
  WAYS = {
    enumerator: ->(http) { http.each(URLS).next },
    list_in_a_fiber: ->(http) { Fiber.new { http.each(URLS) { Fiber.yield } }.resume },
    batch_in_a_fiber: lambda do |http|
      Fiber.new { http.batch { |batch| URLS.each { |url| batch.get(url) { Fiber.yield } } } }.resume
    end
  }.freeze

  WAYS.each do |name, way|
    define_method(:"test_#{name}") do
      gate = Queue.new
      server = serve { |one| one << answer while (request = one.read_request) && (request.target == "/0" || gate.pop) }
      http = client(server.url, max_idle: 100)
      # In a thread of its own: what has been on a stack may be taken for alive.
      20.times { Thread.new { way.call(http) && nil }.join }
      held = http.stats[:in_use]
      assert_operator held, :>=, 20
      eventually("#{name}: connections are still held") do
        Memory.collect
        http.get("/0").status == 200 && http.stats[:in_use].zero?
      end
      gate.close
    end
  end
end
