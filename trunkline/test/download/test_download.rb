# frozen_string_literal: true

require "digest"
require "tmpdir"
require "zlib"
require_relative "../support/file_reply"
require_relative "../test_helper"

# Client#download against servers that break off, change the file, do not support ranges or send wrong data: the file
# must be right, or must not exist.
class TestDownload < TrunklineTest
  BYTES = Random.new(1).bytes(600_000).freeze
  OTHER = Random.new(2).bytes(500_000).freeze
  ETAG = "\"one\""

  def setup
    super
    @folder = Dir.mktmpdir("trunkline-download-")
    @path = File.join(@folder, "file.bin")
  end

  def teardown
    super
    FileUtils.rm_rf(@folder)
  end

  def test_the_file_exists_only_when_it_is_complete
    server = files
    result = download(server)
    assert_equal [@path, BYTES.bytesize, false, false], [result.path, result.bytes, result.resumed?, result.changed?]
    assert_equal 200, result.response.status
    assert_whole
    assert_predicate result, :frozen?
    request = server.requests.first
    assert_equal ["identity", nil], [request["accept-encoding"], request["range"]]
  end

  def test_pathname_and_nothing_in_the_file
    server = serve(response_bytes(""))
    assert_equal 0, client(server.url).download("/", to: Pathname.new(@path)).bytes
    assert_equal "", File.binread(@path)
  end

  def test_an_interrupted_download_is_resumed
    [1000, 599_999].each do |cut|
      server = files { |send, number| number == 1 ? send.call(cut: cut) : send.call }
      result = download(server)
      assert_predicate result, :resumed?
      assert_whole
      again = server.requests.last
      assert_equal ["bytes=#{cut}-", ETAG], [again["range"], again["if-range"]]
      File.delete(@path)
    end
  end

  def test_a_download_is_resumed_after_server_errors
    replies = [{ cut: 1000 }, { status: "503 Busy" }, { status: "503 Busy" }, { cut: 4000 }]
    server = files { |send, number| send.call(**replies.fetch(number - 1, {})) }
    assert_predicate download(server), :resumed?
    assert_whole
    assert_equal 5, server.requests.size
  end

  def test_a_download_fails_after_retries_without_progress
    server = files { |send, number| send.call(cut: [1000, 0, 0, 0, 0][number - 1]) }
    assert_raises(Trunkline::TruncatedBody) { download(server) }
    assert_equal 1 + Trunkline::Download::MAX_RETRIES, server.requests.size
    assert_equal ["file.bin.part", "file.bin.part.json"], there
    assert_predicate download(server, url: server.url("/file")), :resumed?
    assert_whole
  end

  def test_another_process_resumes_the_download
    gate = Queue.new
    server = files { |send, number| number == 1 ? send.call(cut: 300_000, wait: gate) : send.call }
    code = "Trunkline.new(#{server.url.dump}, timeout: 20).download('/file', to: #{@path.dump})"
    pid = Process.spawn(*Subprocess.command(code), %i[out err] => File::NULL)
    eventually { File.size?("#{@path}.part") == 300_000 }
    Process.kill(:KILL, pid)
    Process.wait(pid)
    gate << true
    result = download(server)
    assert_predicate result, :resumed?
    assert_equal "bytes=300000-", server.requests.last["range"]
    assert_whole
  end

  def test_without_resume_all_comes_again
    server = files { |send, number| send.call(cut: [1000, 0, 0, 0, 0][number - 1]) }
    assert_raises(Trunkline::TruncatedBody) { download(server) }
    result = download(server, resume: false)
    refute_predicate result, :resumed?
    assert_nil server.requests.last["range"]
    assert_whole
  end

  def test_a_copy_that_changed_is_begun_anew
    server = files do |send, number|
      number == 1 ? send.call(cut: 1000) : send.call(bytes: OTHER, etag: "\"two\"")
    end
    result = download(server)
    assert_equal [true, false], [result.changed?, result.resumed?]
    assert_equal OTHER, File.binread(@path)
  end

  def test_a_server_without_ranges_or_with_weak_validators_is_not_gone_on_with
    [{ ranges: false }, { etag: "W/\"one\"" }, { etag: nil }].each do |options|
      server = files { |send, number| send.call(**options, cut: (1000 if number == 1)) }
      assert_raises(Trunkline::TruncatedBody) { download(server) }
      assert_empty there
      refute_predicate download(server), :resumed?
      assert_whole
      File.delete(@path)
    end
  end

  # RFC 9110 8.8.3 permits any bytes beyond ASCII in an entity tag.
  def test_a_tag_that_is_no_text
    ["\"\xE9\"", "\"\u00e9\""].each do |tag|
      replies = [{ cut: 1000 }, { status: "403 No" }]
      server = files { |send, number| send.call(etag: tag.b, **replies.fetch(number - 1, {})) }
      assert_raises(Trunkline::ClientError) { download(server) }
      assert_predicate download(server), :resumed?
      assert_equal tag.b, server.requests.last["if-range"].b
      assert_whole
    end
  end

  def test_a_date_will_do_when_it_is_strong
    date = { "Last-Modified" => "Mon, 02 Nov 2026 10:00:00 GMT", "Date" => "Mon, 23 Nov 2026 10:00:00 GMT" }
    server = files { |send, number| send.call(etag: nil, cut: (1000 if number == 1), **date) }
    assert_predicate download(server), :resumed?
    assert_equal date["Last-Modified"], server.requests.last["if-range"]
    assert_whole
  end

  def test_a_different_range_than_requested
    server = files { |send, number| send.call(cut: (1000 if number == 1), shift: number > 1 ? 1 : 0) }
    assert_match(/bytes 1001-599999.*bytes=1000-/, assert_raises(Trunkline::DownloadError) { download(server) }.message)
    refute_path_exists @path
  end

  def test_a_partial_file_that_was_complete
    server = files { |send, number| send.call(chunked: number == 1) }
    assert_equal BYTES.bytesize, download(server).bytes
    assert_whole
  end

  def test_digests
    sha = [Digest::SHA256.digest(BYTES)].pack("m0")
    wrong = ["x" * 32].pack("m0")
    %w[Repr-Digest Content-Digest].each do |field|
      assert_equal BYTES.bytesize, download(files { |send| send.call(field => "sha-256=:#{sha}:") }).bytes
      File.delete(@path)
      server = files { |send| send.call(field => "sha-256=:#{wrong}:") }
      error = assert_raises(Trunkline::DownloadError) { download(server) }
      assert_match(/has the sha-256 digest #{Digest::SHA256.hexdigest(BYTES)}, and the server says/, error.message)
      assert_empty there
    end
  end

  def test_checksums
    server = files
    { "sha-256" => Digest::SHA256, "sha-512" => Digest::SHA512, "md5" => Digest::MD5 }.each do |name, digest|
      download(server, checksum: "#{name}:#{digest.hexdigest(BYTES).upcase}")
      assert_whole
      File.delete(@path)
      assert_raises(Trunkline::DownloadError) { download(server, checksum: "#{name}:#{digest.hexdigest("x")}") }
      assert_empty there
    end
  end

  def test_parts_side_by_side
    bytes = Random.new(3).bytes(5 * 1024 * 1024)
    server = files { |send, number| send.call(bytes: bytes, cut: (1000 if number == 3)) }
    reports = []
    result = download(server, parts: 3, progress: ->(progress) { reports << progress })
    assert_equal bytes, File.binread(@path)
    assert_equal [bytes.bytesize, true], [result.bytes, result.resumed?]
    assert_equal 5, server.requests.size
    assert_equal [bytes.bytesize] * 2, [reports.last.bytes, reports.last.total]
    assert_equal ["file.bin"], there
  end

  def test_parts_of_a_small_file_and_of_a_server_without_ranges
    assert_equal BYTES.bytesize, download(files, parts: 4).bytes
    assert_whole
    bytes = BYTES * 4
    server = files { |send| send.call(bytes: bytes, ranges: false) }
    assert_equal bytes.bytesize, download(server, parts: 4).bytes
    assert_equal bytes, File.binread(@path)
    assert_equal 0, download(files { |send| send.call(bytes: "") }, parts: 4).bytes
  end

  def test_a_part_that_fails_ends_all_and_the_rest_comes_later
    bytes = Random.new(4).bytes(4 * 1024 * 1024)
    server = files { |send, number| number == 3 ? send.call(status: "403 No") : send.call(bytes: bytes) }
    assert_raises(Trunkline::ClientError) { download(server, parts: 3) }
    refute_path_exists @path
    assert_predicate download(server, parts: 3), :resumed?
    assert_equal bytes, File.binread(@path)
  end

  def test_bytes_of_several_parts_are_on_the_disk_before_they_are_noted
    partial = Trunkline::Download::PartialFile.new(@path)
    metadata = Trunkline::Download::PartialFile::Metadata
    kept = []
    partial.io.define_singleton_method(:fsync) do
      kept << JSON.parse(File.read("#{path}.json"))["parts"]
      super()
    end
    [[[0, nil, 0]], [[0, 10, 10], [10, 20, 5]], [[0, 10, 10], [10, 20, 10]]].each do |parts|
      partial.write_metadata(metadata.new(url: "", validator: '"1"', total: 20, parts: parts))
    end
    assert_equal [[[0, nil, 0]], [[0, 10, 10], [10, 20, 5]]], kept, "what was noted when the bytes were flushed"
  ensure
    partial&.remove
  end

  def test_refusals_name_nothing
    server = files { |send, number| send.call(status: number == 1 ? "404 Not Found" : "204 No Content") }
    assert_raises(Trunkline::ClientError) { download(server) }
    assert_match(/204, and with no file/, assert_raises(Trunkline::DownloadError) { download(server) }.message)
    assert_empty there
  end

  def test_an_older_file_stays_until_the_new_one_is_complete
    File.write(@path, "old")
    server = files { |send, number| number > 1 ? send.call : send.call(status: "500 No") }
    assert_raises(Trunkline::ServerError) { download(server) }
    assert_equal "old", File.read(@path)
    download(server)
    assert_whole
  end

  def test_only_one_download_to_a_path_at_a_time
    gate = Queue.new
    server = files { |send, number| send.call(cut: (10 if number == 1), wait: (gate if number == 1)) }
    first = Thread.new { download(server) }
    eventually { File.size?("#{@path}.part") }
    error = assert_raises(Trunkline::DownloadError) { download(server) }
    assert_equal [:none, true], [error.sent, error.message.include?("somebody else")]
    gate << true
    first.value
    assert_whole
  end

  # Another download finishes with the partial file after this one opened it, and before this one locked it.
  def test_another_download_that_ends_before_the_lock_is_taken
    { finish: "theirs", remove: "" }.each do |ending, left|
      other = Trunkline::Download::PartialFile.new(@path)
      other.io.write("theirs")
      after_the_next_open { other.public_send(ending) }
      mine = Trunkline::Download::PartialFile.new(@path)
      mine.start(nil)
      mine.io.write("mine")
      assert_equal left, File.exist?(@path) ? File.binread(@path) : "", ending
      mine.finish
      assert_equal "mine", File.binread(@path), ending
      File.delete(@path)
    end
  end

  # Calls the block once, after the next File.new.
  def after_the_next_open(&hook)
    File.define_singleton_method(:new) do |*arguments, **options|
      File.singleton_class.remove_method(:new)
      super(*arguments, **options, &nil).tap(&hook)
    end
  end

  def test_a_full_disk
    code = <<~RUBY
      Signal.trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 100_000)
      begin
        Trunkline.new(ARGV_URL, timeout: 20).download("/file", to: ARGV_PATH)
      rescue SystemCallError => error
        puts error.class, error.message
      end
    RUBY
    server = files
    result = Subprocess.run(code.sub("ARGV_URL", server.url.dump).sub("ARGV_PATH", @path.dump))
    assert_match(/Errno::EFBIG\n.*file\.bin\.part/, result.out, result.err)
    refute_path_exists @path
    assert_predicate download(server), :resumed?
    assert_whole
  end

  def test_a_directory_that_may_not_be_written_to
    code = <<~RUBY
      Process.uid = 65_534 if Process.uid.zero?
      Process.euid = Process.uid
      begin
        Trunkline.new(ARGV_URL, timeout: 20).download("/file", to: ARGV_PATH)
      rescue Errno::EACCES => error
        puts error.message
      end
    RUBY
    server = files
    File.chmod(0o555, @folder)
    result = Subprocess.run(code.sub("ARGV_URL", server.url.dump).sub("ARGV_PATH", @path.dump))
    assert_match(/\APermission denied.*file\.bin$/, result.out, result.err)
    assert_empty there
    assert_empty server.requests
  ensure
    File.chmod(0o755, @folder)
  end

  def test_progress_and_what_it_raises
    reports = []
    server = files
    download(server, progress: ->(progress) { reports << progress })
    assert_equal [BYTES.bytesize, BYTES.bytesize, 0.0], [reports.last.bytes, reports.last.total, reports.last.eta]
    File.delete(@path)
    assert_raises(IndexError) { download(server, progress: ->(_) { raise IndexError }) }
    refute_path_exists @path
    download(server)
    assert_whole
  end

  def test_an_interrupt_closes_the_connection_and_what_came_stays
    gate = Queue.new
    server = files { |send, number| send.call(cut: (1000 if number == 1), wait: (gate if number == 1)) }
    http = client(server.url)
    thread = Thread.new { http.download("/file", to: @path) }
    thread.report_on_exception = false
    eventually { File.size?("#{@path}.part") == 1000 }
    thread.kill.join
    assert_equal 0, http.stats[:in_use]
    gate << true
    assert_predicate download(server), :resumed?
    assert_whole
  end

  def test_over_tls_and_chunked_and_coded
    server = serve(chunked_response("one", "two"), tls: TestCA.server_context(:localhost))
    http = secure_client(server.url(host: "localhost"))
    assert_equal 6, http.download("/", to: @path).bytes
    coded = response_bytes(Zlib.gzip("plain"), "Content-Encoding" => "gzip", "ETag" => ETAG)
    assert_equal 5, client(serve(coded).url).download("/", to: @path).bytes
    assert_equal "plain", File.binread(@path)
  end

  def test_stubs_redirects_and_bad_arguments
    server = serve do |connection|
      connection << redirect("/there") << response_bytes("there") if connection.read_request
    end
    http = client(server.url)
    { to: @folder, parts: 0, checksum: "sha-256:1", resume: 1, progress: 1 }.each do |name, value|
      error = assert_raises(Trunkline::InvalidRequest) { http.download("/", **{ to: @path, name => value }) }
      assert_match(/\A#{name}: must be /, error.message)
    end
    assert_raises(Trunkline::InvalidRequest) { http.download("/", to: "#{@path}/none/file") }
    assert_empty server.requests
  end

  private

  def download(server, url: "/file", **options) = client(server.url).download(url, to: @path, **options)
  def there = Dir.children(@folder).sort

  def assert_whole
    assert_equal Digest::SHA256.hexdigest(BYTES), Digest::SHA256.file(@path).hexdigest
    assert_equal ["file.bin"], there
  end

  # A server of one file. The block defines the response to each request: send.call takes the deviations from the
  # default (FileReply).
  def files(&script)
    script ||= ->(send, _number) { send.call }
    count = 0
    lock = Mutex.new
    serve do |connection|
      while (request = connection.read_request)
        number = lock.synchronize { count += 1 }
        break unless script.call(FileReply.new(connection, request, BYTES).method(:send_response), number)
      end
    end
  end
end
