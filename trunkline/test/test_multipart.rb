# frozen_string_literal: true

require_relative "test_helper"
require "tempfile"
require "pathname"
require "rack"
require "stringio"

# multipart/form-data, parsed by Rack.
class TestMultipart < TrunklineTest
  stressable

  def setup
    super
    @seen = nil
    @server = serve do |connection|
      while (request = connection.read_request)
        @length = request["content-length"]
        @chunked = request["transfer-encoding"]
        @seen = parsed(request).transform_values { |value| part(value) }
        connection << response_bytes
      end
    end
  end

  def test_plain_values
    send_multipart("name" => "grün", note: "two\r\nlines", "number" => 3)
    assert_equal({ "name" => "grün", "note" => "two\r\nlines", "number" => "3" }, @seen)
  end

  def test_repeated_names
    send_multipart([["tags[]", "one"], ["tags[]", "two"]])
    assert_equal %w[one two], @seen["tags"]
  end

  def test_a_file_is_named_after_its_path
    with_file("picture.png", "\x89PNG\r\n\x00data".b) do |path|
      File.open(path, "rb") { |file| send_multipart("upload" => file) }
      assert_equal ["picture.png", "image/png", "\x89PNG\r\n\x00data".b], @seen["upload"]
    end
  end

  def test_a_pathname_is_opened_and_closed
    with_file("notes.txt", "hello") do |path|
      send_multipart("upload" => Pathname(path))
      assert_equal ["notes.txt", "text/plain", "hello"], @seen["upload"]
    end
  end

  def test_a_part_names_itself
    content = Trunkline::Part.new("a,b\n1,2\n", filename: "table.csv", content_type: "text/csv")
    send_multipart("upload" => content)
    assert_equal ["table.csv", "text/csv", "a,b\n1,2\n"], @seen["upload"]
  end

  def test_a_filename_with_quotes_and_line_ends_stays_a_filename
    filename = "a\"b\r\nX-Evil: 1\r\n\r\nc.txt"
    send_multipart("upload" => Trunkline::Part.new("x", filename: filename, content_type: "text/plain"))
    assert_equal({ "upload" => [filename, "text/plain", "x"] }, @seen)
  end

  def test_a_name_with_line_ends_injects_nothing
    send_multipart("a\"\r\nX-Evil: 1\r\n\r\n" => "x")
    assert_equal({ "a%22%0D%0AX-Evil: 1%0D%0A%0D%0A" => "x" }, @seen)
  end

  def test_content_that_looks_like_a_boundary
    tricky = "\r\n--boundary\r\n--#{"-" * 30}\r\nContent-Disposition: form-data; name=\"evil\"\r\n\r\nx\r\n--"
    send_multipart("text" => tricky)
    assert_equal({ "text" => tricky }, @seen)
  end

  def test_known_sizes_are_declared
    send_multipart("a" => "1", "b" => Trunkline::Part.new("xyz", filename: "b"))
    refute_nil @length
    assert_nil @chunked
  end

  def test_an_io_of_unknown_size_is_streamed
    reader, writer = IO.pipe
    writer.write("from a pipe")
    writer.close
    send_multipart("upload" => Trunkline::Part.new(reader, filename: "pipe.bin"))
    assert_equal "from a pipe", @seen["upload"].last
  ensure
    reader.close
  end

  # nginx counts the bytes in another process, so this process' memory is the client's alone.
  def test_a_big_file_is_streamed_in_flat_memory
    with_file("big.bin", "") do |path|
      File.truncate(path, 500 * Nginx::MEBIBYTE)
      before = Memory.resident_bytes
      Memory.reset_peak
      response = client.post(Nginx.url("/length"), multipart: { "upload" => Pathname(path) }, timeout: 20)
      assert_operator response.body.to_i, :>, 500 * Nginx::MEBIBYTE
      assert_operator Memory.peak_bytes - before, :<, 100 * Nginx::MEBIBYTE
    end
  end

  def test_httpbin_understands_it
    response = client.post(Httpbin.url("/post"),
                           multipart: { "a" => "1", "f" => Trunkline::Part.new("f!", filename: "f") })
    assert_equal({ "a" => "1" }, response.json["form"])
    assert_equal({ "f" => "f!" }, response.json["files"])
  end

  private

  def parsed(request)
    Rack::Request.new("REQUEST_METHOD" => "POST", "CONTENT_TYPE" => request["content-type"],
                      "CONTENT_LENGTH" => request.body.bytesize.to_s, "rack.input" => StringIO.new(request.body)).POST
  end

  def send_multipart(parts) = client.post(@server.url, multipart: parts)

  def part(value)
    return value unless value.is_a?(Hash) && value[:tempfile]

    [value[:filename], value[:type], value[:tempfile].read.b]
  end

  def with_file(name, content)
    Dir.mktmpdir do |directory|
      path = File.join(directory, name)
      File.binwrite(path, content)
      yield path
    end
  end
end
