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

  def test_what_they_hold
    gate = Queue.new
    server = serve { |one| one << answer while (request = one.read_request) && (request.target == "/0" || gate.pop) }
    http = client(server.url, max_idle: 100)
    WAYS.each do |name, way|
      # In a thread of its own: what has been on a stack may be taken for alive.
      20.times { Thread.new { way.call(http) && nil }.join }
      assert_operator http.stats[:in_use], :>=, 20, name
      eventually("#{name}: connections are still held") do
        Memory.collect
        http.get("/0").status == 200 && http.stats[:in_use].zero?
      end
    end
    gate.close
  end
end
