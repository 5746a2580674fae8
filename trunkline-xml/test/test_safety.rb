# frozen_string_literal: true

require_relative "test_helper"

# Tests for leaks, and for errors with threads, Ractors and the garbage collector.
class TestSafety < Minitest::Test
  Builder = Trunkline::XML::Builder

  def test_blocks_left_by_exceptions_leak_nothing
    leave = lambda do |round|
      xml = Builder.new(indent: 2)
      text = "x" * 2000
      case round % 3
      when 0 then begin
        catch(:out) { xml.a { xml.b(text) { nil } } }
      rescue StandardError
        nil
      end
      when 1 then catch(:out) do
        xml.a do
          xml.b(text)
          throw :out
        end
      end
      else begin
        xml.a { xml.b(c: text) { raise IndexError } }
      rescue IndexError
        nil
      end
      end
    end
    assert_no_growth(2000, &leave)
  end

  def test_targets_that_raise_leak_nothing
    failing = Class.new { def <<(_) = raise(IOError, "full") }.new
    assert_no_growth(3000) do
      Builder.new(target: failing).a("text" * 500, b: "c")
    rescue IOError
      nil
    end
  end

  def test_conversions_that_raise_leave_the_document_as_it_was
    xml = Builder.new
    xml.a { xml.b("fine", c: Class.new { def to_s = raise(KeyError) }.new) }
  rescue KeyError
    assert_equal "<a><b</a>", xml.target!
  end

  def test_many_threads_with_a_builder_each
    count = rounds(200)
    documents = Array.new(4) do |number|
      Thread.new do
        xml = Builder.new(indent: 1)
        xml.list { count.times { |n| xml.__send__("tag#{n % 50}", "text #{number} & #{n}", at: n) && Thread.pass } }
        xml.target!
      end
    end.map(&:value)
    assert_equal 1, documents.each_with_index.map { |document, number|
      document.gsub("text #{number}", "text")
    }.uniq.size
  end

  def test_ractors
    skip "this Ruby has no Ractors" unless defined?(Ractor)
    Warning[:experimental] = false
    ractors = Array.new(2) do |number|
      Ractor.new(number) do |own|
        xml = Trunkline::XML::Builder.new(indent: 2)
        xml.instruct!
        xml.list { 50.times { |n| xml.__send__("r#{own}t#{n}", "caf\u00e9 & #{n}\u0085", a: n, b: 1.5) } }
        xml.cdata! "]]>"
        xml.instruct! :xml, encoding: "US-ASCII" # where the implementation in Ruby takes over
        xml.end "caf\u00e9"
        xml.target!
      end
    end
    documents = ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    assert documents.all? { |document| document.include?("&amp; 49") && document.end_with?("<end>caf&#233;</end>\n") }
  ensure
    Warning[:experimental] = true
  end

  def test_compaction_while_a_document_is_written
    skip "this Ruby cannot compact" unless GC.respond_to?(:compact)
    xml = Builder.new(indent: 2)
    expected = ::Builder::XmlMarkup.new(indent: 2)
    [xml, expected].each do |builder|
      builder.list do
        20.times do |n|
          GC.compact if (n % 5).zero? && builder.equal?(xml)
          builder.__send__("item#{n}", "text #{n}" * n, a: "b#{n}", "c#{n}" => n)
        end
      end
    end
    assert_equal expected.target!, xml.target!
  end

  def test_objects_for_each_tag
    skip "counted in C" unless Trunkline::XML.native?
    render = lambda do
      xml = Builder.new(indent: 2)
      xml.list { 500.times { |n| xml.item("text", id: n) } }
    end
    render.call
    before = GC.stat(:total_allocated_objects)
    render.call
    assert_operator (GC.stat(:total_allocated_objects) - before) / 500.0, :<=, 2
  end

  def test_growing_target_stays_linear
    xml = Builder.new
    count = rounds(20_000)
    count.times { xml.a "0123456789" }
    assert_equal 17 * count, xml.target!.bytesize
  end

  private

  # Compares the resident memory, in KB, after ten times `rounds` calls of the block with that after three times before,
  # in which the heap reaches its size. GC.start runs each time, so that garbage does not add up.
  def assert_no_growth(rounds, &work)
    repeat = lambda do |times|
      times.times do
        (memory_tells? ? rounds : 3).times(&work)
        GC.start
      end
      memory_tells? ? resident : 0
    end
    before = repeat.call(3)
    assert_operator repeat.call(10) - before, :<, 8 * 1024
  end

  # Resident memory shows no leaks under GC.stress, AddressSanitizer or valgrind (which finds leaks itself), or with a
  # garbage collector other than CRuby's: there only errors of the calls themselves are found.
  def memory_tells?
    GarbageCollection::LEVEL == "normal" && RUBY_ENGINE == "ruby" &&
      !ENV["LD_PRELOAD"].to_s.match?(/asan|vgpreload/) && File.exist?("/proc/self/status")
  end

  def resident = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
end
