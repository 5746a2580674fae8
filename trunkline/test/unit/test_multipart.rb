# frozen_string_literal: true

require "pathname"
require "stringio"
require "tempfile"
require_relative "../support/unit_test"
require "trunkline/multipart"

class TestMultipartBody < UnitTest
  Part = Trunkline::Part

  def multipart(values) = Trunkline::Multipart.new(values, boundary: "B")

  def text(values) = chunks(multipart(values)).map(&:b).join

  def test_the_format_of_a_body
    assert_equal "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n" \
                 "--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nzwei\r\n--B--\r\n",
                 text(a: 1, "b" => "zwei")
    assert_equal "--B--\r\n", text({})
    assert_equal "multipart/form-data; boundary=B", multipart({}).content_type
  end

  def test_the_length_is_what_is_sent
    values = { a: "ü", b: StringIO.new("xyz"), c: ["1", Part.new("2", filename: "ä.txt")] }
    assert_equal text(values).bytesize, multipart(values.merge(b: StringIO.new("xyz"))).length
  end

  def test_the_length_is_unknown_when_one_part_is
    body = multipart(a: "1", b: Part.new(-> {}))
    assert_nil body.length
    refute_predicate body, :rewindable?
  end

  def test_a_body_can_be_sent_again
    body = multipart(a: StringIO.new("abc"))
    first = chunks(body).join
    assert_predicate body, :rewindable?
    body.rewind
    assert_equal first, chunks(body).join
  end

  def test_names_repeat_for_arrays_and_pairs
    assert_equal 2, text("f[]" => %w[1 2]).scan('name="f[]"').size
    assert_equal 2, text([%w[f 1], %w[f 2]]).scan('name="f"').size
  end

  def test_a_file_brings_name_and_type
    Tempfile.create(["report", ".pdf"]) do |file|
      file.write("PDF")
      file.rewind
      [file, Pathname(file.path)].each do |given|
        sent = text(doc: given)
        assert_includes sent, "filename=\"#{File.basename(file.path)}\"\r\nContent-Type: application/pdf\r\n\r\nPDF\r\n"
      end
    end
  end

  def test_unknown_extensions_are_octets
    assert_includes text(a: Part.new("x", filename: "a.nosuch")), "Content-Type: application/octet-stream"
    assert_includes text(a: Part.new("x", filename: "a")), "Content-Type: application/octet-stream"
  end

  def test_a_part_may_have_filename_type_and_headers
    part = Part.new("x", filename: "a.bin", content_type: "image/png", headers: { "X-Id" => 5 })
    assert_includes text(a: part), "name=\"a\"; filename=\"a.bin\"\r\nContent-Type: image/png\r\nX-Id: 5\r\n\r\nx\r\n"
  end

  def test_a_closed_tempfile_is_sent_by_its_path
    file = Tempfile.new(["a", ".txt"])
    file.write("saved")
    file.close
    name = File.basename(file.path)
    assert_includes text(a: file), "filename=\"#{name}\"\r\nContent-Type: text/plain\r\n\r\nsaved\r\n"
    file.unlink
    assert_refused("body") { text(a: file) }
  end

  # Resembles ActionDispatch::Http::UploadedFile, which has neither pos nor seek, but a path.
  Upload = Struct.new(:original_filename, :content_type, :to_path) { def read(*) = raise("read by its path") }

  def test_an_upload_brings_name_and_type
    Tempfile.create(["RackMultipart", ".jpg"]) do |file|
      File.write(file.path, "PNG")
      upload = Upload.new("../sea.png", "image/png", file.path)
      expected = "filename=\"sea.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n"
      assert_includes text(a: upload), expected
      [{ filename: "sea.png", type: "image/png", name: "a", tempfile: file, head: "x" },
       { "filename" => "sea.png", "content_type" => "image/png", "io" => StringIO.new("PNG") }].each do |hash|
        assert_includes text(a: [hash]), expected
      end
    end
  end

  def test_a_string_io_with_name_and_type
    io = StringIO.new("PNG")
    def io.original_filename = "sea.png"
    def io.content_type = "image/x"
    assert_includes text(a: io), "filename=\"sea.png\"\r\nContent-Type: image/x\r\n\r\nPNG\r\n"
    io.rewind
    assert_includes text(a: Part.new(io, content_type: "image/y")), "Content-Type: image/y"
  end

  def test_a_hash_that_is_no_file_is_refused
    refused = assert_refused("multipart", "tempfile:", "user[name]") { text(user: { name: "secret" }) }
    refute_includes refused.message, "secret"
  end

  def test_a_file_without_a_name
    Tempfile.create { |file| refute_includes text(a: Part.new(file, filename: false)), "filename" }
  end

  # RFC 7578 4.2: filenames are in UTF-8, characters that would end the value are percent-encoded, and no filename* is
  # sent.
  def test_filenames_are_escaped
    sent = text(a: Part.new("x", filename: "ä\"\r\nX: 1.txt")).force_encoding("UTF-8")
    assert_includes sent, "filename=\"ä%22%0D%0AX: 1.txt\"\r\n"
    refute_includes sent, "filename*"
  end

  def test_names_are_escaped
    assert_includes text("a\"\r\nb" => "1"), "name=\"a%22%0D%0Ab\"\r\n"
  end

  def test_boundaries_differ
    refute_equal Trunkline::Multipart.new({}).boundary, Trunkline::Multipart.new({}).boundary
  end

  def test_invalid_parts_are_refused
    assert_refused("multipart") { multipart(a: Object.new) }
    assert_refused("multipart") { multipart(a: { b: 1 }) }
    assert_refused("multipart") { multipart("text") }
    assert_refused("multipart") { multipart([1]) }
    assert_refused("readable file") { multipart(a: Pathname("/nowhere")) }
    assert_refused("filename") { Part.new("x", filename: 5) }
    assert_refused("NUL") { multipart(a: Part.new("x", filename: "a\0b")) }
    assert_refused("content_type") { multipart(a: Part.new("x", content_type: "a\r\nb")) }
    assert_refused("headers") { Part.new("x", headers: { "A" => "\n" }) }
  end

  # Names of files need not be UTF-8.
  def test_broken_names_are_sent_as_they_are
    sent = text("n\xFF" => Part.new("x", filename: "\xFC.txt"), "ü".encode("ISO-8859-1") => "1")
    assert_includes sent, "name=\"n\xFF\"; filename=\"\xFC.txt\"\r\nContent-Type: text/plain\r\n".b
    assert_includes sent, "name=\"ü\"\r\n".b
  end

  def test_names_in_encodings_without_ascii
    assert_includes text("a".encode("UTF-16LE") => "1"), "name=\"a\"\r\n"
    assert_refused("multipart: name", "UTF-8") { multipart("a".dup.force_encoding("UTF-7") => "1") }
    %w[UTF-16LE UTF-7].each do |encoding|
      assert_refused("multipart: filename") { Part.new("x", filename: "a".dup.force_encoding(encoding)) }
    end
  end
end
