# frozen_string_literal: true

require_relative "test_helper"
require "stringio"
require "trunkline/bulk/command"
require "trunkline/bulk/results/complete_prefix"
require "zstd-ruby"

# Files of results: remainders of a killed process, bodies that are not text, a full disk.
class TestResults < BulkTest
  Results = Trunkline::Bulk::Results
  PACKED = { lines: ->(text) { text }, gzip: Zlib.method(:gzip), zstd: Zstd.method(:compress) }.freeze

  PACKED.each do |format, pack|
    define_method(:"test_the_complete_prefix_of_#{format}") do
      random = Random.new(7)
      parts = Array.new(8) do |number|
        # A frame may contain the magic number of another, and the parts have frame headers of every size.
        pack.call("#{"\xFD\x2F\xB5\x28".b * number}#{random.bytes(40**(number % 4)).unpack1("H*")}\n")
      end
      ends = parts.inject([0]) { |all, part| all << (all.last + part.bytesize) }
      cuts = ends.flat_map { |at| ((at - 12)..(at + 12)).to_a } + Array.new(100) { random.rand(ends.last) }
      cuts.grep(0..ends.last).each do |at|
        File.binwrite(path("file"), parts.join[0, at])
        found = File.open(path("file"), "rb") { |file| Results::CompletePrefix.public_send(format, file) }
        assert_equal ends.select { |one| one <= at }.max, found
      end
    end
  end

  { "jsonl" => ->(text) { text }, "jsonl.gz" => PACKED[:gzip], "jsonl.zst" => PACKED[:zstd] }.each do |ending, pack|
    define_method(:"test_a_#{ending}_goes_on_after_its_complete_prefix") do
      complete = pack.call(%({"key":"first"}\n))
      File.binwrite(path("r.#{ending}"), complete + pack.call(%({"key":"cut"}\n))[0..-3])
      rows = Results.open(path("r.#{ending}"), fields: %w[key error])
      rows.refuse("item", "none", "second")
      rows.flush
      error = assert_raises(Trunkline::InvalidRequest) { Results.open(path("r.#{ending}")) }
      assert_match(/is being written by another process/, error.message)
      rows.close
      assert_equal complete + pack.call(%({"key":"second","error":"none"}\n)), File.binread(path("r.#{ending}"))
    end
  end

  def test_a_file_that_can_grow_no_further_has_nothing_in_it_by_halves
    rows = Results.open(path("r.jsonl"), fields: %w[key])
    rows.refuse("item", "none", "first")
    rows.flush
    pid = fork do
      Signal.trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 50)
      rows.refuse("item", "none", "a" * 100)
      errors = 2.times.map { rows.flush && nil rescue $!.class } # rubocop:disable Style/RescueModifier, Style/SpecialGlobalVars
      rows.close
      exit! errors == [Errno::EFBIG] * 2
    end
    assert_predicate Process.wait2(pid).last, :success?
    assert_equal %({"key":"first"}\n), File.read(path("r.jsonl"))
  end

  def test_what_is_no_text_is_shown_as_far_as_it_is
    server = serve { [200, "\xFF\x00", "X-Name: caf\xE9\r\n"] }
    File.binwrite(path("urls.txt"), "#{server.url}/a\nhttp://caf\xE9/\n")
    err = StringIO.new
    argv = ["run", path("urls.txt"), "--out", path("r.jsonl"), "--fields", "url,headers,body,error,timings"]
    assert_equal 1, Trunkline::Bulk::Command.run(argv, out: StringIO.new, err: err), err.string
    lines = File.readlines(path("r.jsonl"), encoding: Encoding::UTF_8)
    good, bad = lines.map { |line| JSON.parse(line) }.sort_by { |row| row["error"].to_s }
    assert_equal ["base64:/wA=", "caf\uFFFD"], [good["body"], good["headers"]["x-name"]]
    assert_operator good["timings"]["total"], :>, 0
    assert_equal ["http://caf\uFFFD/", nil], bad.values_at("url", "body")
    assert_match(/\AInvalidRequest: /, bad["error"])
  ensure
    Trunkline::Bulk::State::SQLite.forget(path("r.jsonl.state"))
  end

  def test_a_table_is_there_for_no_rows_and_takes_further_fields
    Results.open(path("r.sqlite"), fields: %w[key status]).close
    rows = Results.open(path("r.sqlite"), fields: %w[key error])
    2.times { rows.refuse("item", "none", "first") }
    rows.close
    assert_equal [["first", nil, "none"]], SQLite3::Database.new(path("r.sqlite")).execute("SELECT * FROM results")
  end
end
