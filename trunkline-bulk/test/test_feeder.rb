# frozen_string_literal: true

require_relative "test_helper"

# The items of a slice for the worker that has cut it.
class TestFeeder < BulkTest
  def setup
    super
    @state = Trunkline::Bulk::State::SQLite.at(path("state.sqlite"))
    @made = []
  end

  def test_what_it_has_just_cut_is_not_read_again
    feeder, slices = cut(made(4))
    assert_equal [%w[item0 item1], %w[item2 item3]], slices.map { |slice| feeder.items_of(slice) }
    feeder, slices = cut(made(4), "again")
    slices.each { |slice| assert_same @made[slice.positions.first], feeder.items_of(slice).first }
    assert_equal %w[item0 item1], feeder.items_of(slices.first), "another time they are read"
    feeder.close
    refute_same @made[2], feeder.items_of(slices.last).first
  end

  def test_what_is_not_the_same_is_read
    feeder, slices = cut(made(2))
    slices.first.bytes = Trunkline::Bulk::Codec.dump(%w[a b])
    assert_equal %w[a b], feeder.items_of(slices.first)
  end

  def test_blocks_may_change_their_items
    server = serve
    items = Array.new(3) { |number| server.url("/#{number}") }
    [items, items.each(&:freeze).lazy].each_with_index do |source, number|
      changing = Class.new(bulk(source, slice: 2)) { request { |url| url << "?changed" } }
      assert_equal({ "200" => 3 }, run_bulk(changing, "run#{number}").counts)
    end
    assert_equal [], items.grep(/changed/)
    assert_equal({ "/0?changed" => 2, "/1?changed" => 2, "/2?changed" => 2 }, server.counts)
  end

  private

  # Yields Strings that only the consumer and this test hold.
  def made(count)
    @made.clear
    Enumerator.new { |all| count.times { |number| all << "item#{number}".tap { |item| @made << item } } }
  end

  # @return [Array(Feeder, Array<Slice>)] all slices, as they are claimed
  def cut(items, name = "run")
    tested = bulk(items, slice: 2)
    run = @state.begin_run(tested.run_key(name), 2)
    worker = Trunkline::Bulk::State::Workers.name
    feeder = Trunkline::Bulk::Feeder.new(tested, run.id, @state, worker)
    assert feeder.cut
    slices = []
    while (slice = @state.claim(run.id, worker, 30))
      slices << slice
    end
    [feeder, slices]
  end
end
