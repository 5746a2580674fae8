# frozen_string_literal: true

require_relative "../test_helper"
require "trunkline/positioned_writing"
require_relative "../support/small_scheduler"

# Writes at a position of a file.
class TestPositionedWriting < Minitest::Test
  include Trunkline

  # Counts what Ruby asks it to write.
  class WritingScheduler < SmallScheduler
    attr_reader :writes

    def io_pwrite(*)
      @writes = @writes.to_i + 1
      Errno::ENOSYS::Errno * -1
    end
  end

  def setup
    @file = Tempfile.new
    @io = PositionedWriting.open(@file.fileno)
  end

  def teardown
    @file.close!
  end

  def test_bytes_are_written_at_the_offset
    counts = []
    assert_equal 3, PositionedWriting.write(@io, "abc", 2) { |count| counts << count }
    assert_equal 3, counts.sum
    assert_equal "\0\0abc".b, File.binread(@file.path)
  end

  # Ruby calls the hook without the GVL, which crashes the process at times.
  def test_a_fiber_scheduler_is_not_called
    skip "JRuby 9.4 has no fiber scheduler" unless Fiber.respond_to?(:set_scheduler)
    scheduler = WritingScheduler.new
    Thread.new do
      Fiber.set_scheduler(scheduler)
      Fiber.schedule { PositionedWriting.write(@io, "abc", 0) { nil } }
    end.join
    assert_equal "abc", File.binread(@file.path)
    assert_nil scheduler.writes
  end
end
