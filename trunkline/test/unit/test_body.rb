# frozen_string_literal: true

require "pathname"
require "stringio"
require "tempfile"
require_relative "../support/unit_test"
require "trunkline/body"

class TestBody < UnitTest
  Body = Trunkline::Body

  def test_a_string
    body = Body.of("grün")
    assert_equal 5, body.length
    assert_equal ["grün"], chunks(body)
    body.rewind
    assert_equal ["grün"], chunks(body)
    assert_empty chunks(Body.of(""))
  end

  def test_an_io_from_where_it_stands
    io = StringIO.new("head:body")
    io.pos = 5
    body = Body.of(io)
    assert_equal 4, body.length
    assert_equal ["body"], chunks(body)
    body.rewind
    assert_equal ["body"], chunks(body)
    refute_predicate io, :closed?
  end

  def test_unreadable_bodies_are_refused
    closed = StringIO.new("a").tap(&:close)
    File.open(__dir__) do |directory|
      [closed, directory].each do |io|
        error = assert_raises(Trunkline::InvalidRequest) { Body.of(io) }
        assert_match(%r{\Abody: must be .*(?:an instance of StringIO|"/)}, error.message)
      end
    end
  end

  def test_a_device_has_no_length
    File.open(File::NULL) do |file|
      assert_nil Body.of(file).length
      assert_empty chunks(Body.of(file))
    end
  end

  def test_a_file_in_chunks
    Tempfile.create do |file|
      file.write("x" * 150_000)
      file.rewind
      body = Body.of(file)
      assert_equal 150_000, body.length
      assert_equal [65_536, 65_536, 18_928], chunks(body).map(&:bytesize)
      assert_predicate body, :rewindable?
      body.rewind
      assert_equal "x" * 150_000, chunks(body).join
    end
  end

  def test_a_growing_file_is_sent_up_to_its_announced_length
    io = StringIO.new(+"1234")
    body = Body.of(io)
    io.string << "56"
    assert_equal ["1234"], chunks(body)
  end

  def test_a_pipe_has_no_length
    reader, writer = IO.pipe
    writer.write("piped")
    writer.close
    body = Body.of(reader)
    assert_nil body.length
    assert_equal ["piped"], chunks(body)
    refute_predicate body, :rewindable?
  ensure
    reader&.close
  end

  def test_anything_that_reads
    source = Object.new
    pieces = ["ab", "c", nil]
    source.define_singleton_method(:read) { |_bytes| pieces.shift }
    body = Body.of(source)
    assert_nil body.length
    assert_equal %w[ab c], chunks(body)
    refute_predicate body, :rewindable?
  end

  def test_a_pathname_is_opened_and_closed
    Tempfile.create do |file|
      file.write("content")
      file.flush
      before = Dir.children("/dev/fd").size
      body = Body.of(Pathname(file.path))
      assert_equal 7, body.length
      2.times do
        assert_equal ["content"], chunks(body)
        body.rewind
      end
      assert_equal before, Dir.children("/dev/fd").size
    end
  end

  def test_a_pathname_is_closed_after_its_last_chunk
    Tempfile.create do |file|
      file.write("x" * 70_000)
      file.flush
      body = Body.of(Pathname(file.path))
      before = Dir.children("/dev/fd").size
      body.next_chunk
      assert_equal before + 1, Dir.children("/dev/fd").size
      body.next_chunk
      assert_equal before, Dir.children("/dev/fd").size, "nobody asks for more than was declared"
      assert_nil body.next_chunk
    end
  end

  def test_a_pathname_that_is_left_early_is_closed
    Tempfile.create do |file|
      file.write("x" * 100_000)
      file.flush
      body = Body.of(Pathname(file.path))
      body.next_chunk
      before = Dir.children("/dev/fd").size
      body.release
      assert_equal before - 1, Dir.children("/dev/fd").size
      assert_nil body.next_chunk
    end
  end

  def test_a_pathname_of_no_file_is_refused
    assert_refused("body", "readable file") { Body.of(Pathname("/nowhere")) }
    assert_refused("body", "readable file") { Body.of(Pathname("/tmp")) }
  end

  def test_an_array
    body = Body.of(["ab", "", "c"])
    assert_equal 3, body.length
    assert_equal %w[ab c], chunks(body)
    assert_predicate body, :rewindable?
    body.rewind
    assert_equal %w[ab c], chunks(body)
  end

  def test_an_enumerator_is_walked_lazily
    made = 0
    body = Body.of(Enumerator.new { |out| 3.times { |i| out << (made += 1 and i.to_s) } })
    assert_nil body.length
    assert_equal "0", body.next_chunk
    assert_equal 1, made
    assert_equal %w[1 2], chunks(body)
    assert_nil body.next_chunk
    refute_predicate body, :rewindable?
  end

  def test_anything_with_each
    source = Object.new
    source.define_singleton_method(:each) { |&block| ["a", "", "b"].each(&block) }
    assert_equal %w[a b], chunks(Body.of(source))
  end

  def test_a_callable_until_nil
    pieces = ["a", "", "b", nil, "never"]
    body = Body.of(-> { pieces.shift })
    assert_nil body.length
    assert_equal %w[a b], chunks(body)
    refute_predicate body, :rewindable?
  end

  def test_chunks_that_are_no_strings_are_refused
    assert_refused("body", "Strings", "5") { Body.of([5]) }
    assert_refused("body", "Strings", "5") { Body.of([5].each).next_chunk }
    assert_refused("body", "Strings", "5") { Body.of(-> { 5 }).next_chunk }
  end

  def test_other_objects_are_refused
    [5, :x, nil, Object.new].each { |source| assert_refused("body", "String", "IO") { Body.of(source) } }
    assert_refused("body", "json: or form:") { Body.of({ a: 1 }) }
  end

  def test_an_exception_of_the_source_is_raised
    body = Body.of(-> { raise IOError, "torn" })
    assert_raises(IOError) { body.next_chunk }
  end
end
