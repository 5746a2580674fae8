# frozen_string_literal: true

require_relative "test_helper"

# The memory of a process for a long source. Set LINES for a longer one (rake bulk:memory).
class TestMemory < BulkTest
  LINES = Integer(ENV.fetch("LINES", 1_000_000))
  EARLY = LINES / 5
  MEGABYTES = 100
  # Megabytes of allowed growth: for data that grows, and memory that the collector and malloc have not released.
  SLACK = 15
  # One of SENT items is sent; the others need no request.
  SENT = 100

  def program(server)
    <<~RUBY
      def memory(name) = File.read("/proc/self/status")[/\#{name}:\\s+(\\d+)/, 1].to_i / 1024
      class Long < Trunkline::Bulk
        source  { File.foreach(#{path("urls.txt").inspect}, chomp: true) }
        request { |url| "#{server.url}/\#{url[/\\d+\\z/]}" if url.end_with?("00") }
        options timeout: 5
        result  { |*| nil }
      end
      early = nil
      look = ->(status) { early ||= memory("VmRSS") if status.done >= #{EARLY} }
      puts Long.start("run", state: #{state.inspect}, progress: look)
      puts [early, memory("VmRSS"), memory("VmHWM")].join(" ")
    RUBY
  end

  def test_a_long_source_needs_little_memory
    skip "no /proc here" unless File.exist?("/proc/self/status")

    File.open(path("urls.txt"), "w") do |file|
      LINES.times { |number| file.puts "https://api.test/items/of/a/shop?page=#{number + 1}" }
    end
    server = serve
    assert_predicate Process.wait2(Programs.start(program(server), path("output"))).last, :success?
    status, figures = File.readlines(path("output"), chomp: true)
    assert_match(/\Arun: done, #{LINES} done, 0 failed of #{LINES},/, status)
    assert_equal LINES / SENT, server.total
    early, last, most = figures.split.map(&:to_i)
    assert_operator last, :<=, early + SLACK, "MB after #{LINES} lines, and after #{EARLY}"
    assert_operator most, :<, MEGABYTES
    puts "#{LINES} lines: #{early} MB early, #{last} MB at the end, #{most} MB at most" if ENV["LINES"]
  end
end
