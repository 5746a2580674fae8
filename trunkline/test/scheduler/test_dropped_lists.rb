# frozen_string_literal: true

require_relative "../test_helper"

# Lists and batches in a fiber that is never resumed: the connections that they hold must become available to others.
class TestDroppedLists < TrunklineTest
  URLS = %w[/0 /1 /2].freeze
  DROPPED_LISTS = {
    enumerator: ->(http) { http.each(URLS).next },
    list_in_a_fiber: ->(http) { Fiber.new { http.each(URLS) { Fiber.yield } }.resume },
    batch_in_a_fiber: lambda do |http|
      Fiber.new { http.batch { |batch| URLS.each { |url| batch.get(url) { Fiber.yield } } } }.resume
    end
  }.freeze

  # How many of the 20 may be kept by values that remain on a stack: the collector takes them for references.
  STALE = 3

  def test_dropped_lists_release_their_connections
    gate = Queue.new
    server = serve do |one|
      one << response_bytes while (request = one.read_request) && (request.target == "/0" || gate.pop)
    end
    http = client(server.url, max_idle: 100)
    DROPPED_LISTS.each do |name, way|
      # Uses separate threads, and one that starts them: values that remain on a stack may keep objects alive.
      Thread.new { 20.times { Thread.new { way.call(http) && nil }.join } }.join
      assert_operator http.stats[:in_use], :>, 0, name # the collector may have run already
      eventually("#{name}: connections are still held") do
        Memory.collect
        http.get("/0").status == 200 && http.stats[:in_use] <= STALE
      end
    end
    gate.close
  end
end
