# frozen_string_literal: true

require_relative "../test_helper"

# Lists and batches in a fiber that is never resumed: the connections that they hold must become available to others.
class TestDroppedLists < TrunklineTest
  URLS = %w[/small /slow?seconds=60 /slow?seconds=60&number=2].freeze
  DROPPED_LISTS = {
    enumerator: ->(http) { http.each(URLS).next },
    list_in_a_fiber: ->(http) { Fiber.new { http.each(URLS) { Fiber.yield } }.resume },
    batch_in_a_fiber: lambda do |http|
      Fiber.new { http.batch { |batch| URLS.each { |url| batch.get(url) { Fiber.yield } } } }.resume
    end
  }.freeze

  # The server is another process: the stacks of threads of a server in this one may hold old values, which the
  # collector takes for references.
  def test_dropped_lists_release_their_connections
    http = client(Nginx.url("/"), max_idle: 100)
    DROPPED_LISTS.each do |name, way|
      # Uses separate threads, and one that starts them: values that remain on a stack may keep objects alive.
      Memory.without_collector do
        Thread.new { 20.times { Thread.new { way.call(http) && nil }.join } }.join
        assert_operator http.stats[:in_use], :>=, 20, name
      end
      eventually("#{name}: connections are still held") do
        Memory.collect
        http.get("/small").status == 200 && http.stats[:in_use].zero?
      end
    end
  end
end
