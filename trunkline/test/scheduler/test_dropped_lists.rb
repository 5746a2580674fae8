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

  # The caller may keep a response of a dropped list as long as it likes.
  def test_a_response_does_not_keep_the_descriptors_of_its_list
    http = client(Nginx.url("/"), max_idle: 100)
    other = client(Nginx.url("/"))
    other.get("/small")
    before = sockets
    kept = Array.new(10) { Thread.new { http.each(URLS).next }.value }
    assert_operator sockets, :>, before
    http.close
    eventually("descriptors are still open") do
      Memory.collect
      other.get("/small").status == 200 && sockets <= before
    end
    assert_equal 10, kept.size
  end

  private

  def sockets = LeakCheck.descriptors.each_value.grep(/\Asocket:/).size
end
