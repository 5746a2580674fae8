# frozen_string_literal: true

require_relative "../test_helper"

# Scheduler#room? finds an origin that may have one more request, and the next #add starts it there.
class TestCapacity < TrunklineTest
  def test_a_request_that_was_queued_since_goes_first
    scheduler, reader = scheduler_with_room
    scheduler.hold(reader.read("/held", 1))
    scheduler.add(reader.read("/added", 2))
    assert_equal 0, scheduler.in_flight, "a request overtook one that waits"
    assert_equal [1, 2], results(scheduler)
  end

  def test_capacity_for_one_request
    scheduler, reader = scheduler_with_room
    scheduler.add(reader.read("/first", 1))
    scheduler.add(reader.read("/second", 2))
    assert_equal 1, scheduler.in_flight
    refute_predicate scheduler, :room?
  end

  def test_room_of_an_origin_is_not_that_of_another
    right = serve
    scheduler, reader = scheduler_of(serve)
    run_one(scheduler, reader)
    scheduler.add(reader.read("#{right.url}/", 1)) # fills this origin
    assert_predicate scheduler, :room?
    scheduler.add(reader.read("#{right.url}/", 2))
    assert_equal 1, scheduler.in_flight
  end

  private

  # A scheduler whose room? has returned true.
  def scheduler_with_room
    scheduler, reader = scheduler_of(serve)
    run_one(scheduler, reader)
    assert_predicate scheduler, :room?
    [scheduler, reader]
  end

  # Each origin may have one request in flight.
  def scheduler_of(server)
    options, builder = client(server.url).send(:batch_options_and_builder, { concurrency: 1 })
    reader = Trunkline::Scheduler::RequestReader.new(builder)
    scheduler = Trunkline::Scheduler.new(builder.pool_handle.pool, options, reader)
    (@schedulers ||= []) << scheduler
    [scheduler, reader]
  end

  def run_one(scheduler, reader)
    scheduler.add(reader.read("/", 0))
    assert_equal [0], results(scheduler)
  end

  # @return [Array<Integer>] indices of the requests, in the order of their completion
  def results(scheduler)
    indices = []
    scheduler.run_once(5) { |pending, *| indices << pending.index } until scheduler.idle?
    indices
  end

  def teardown
    @schedulers&.each(&:close)
    super
  end
end
