# frozen_string_literal: true

require_relative "test_helper"
require "stringio"
require "trunkline/bulk/command"

# The command trunkline-bulk.
class TestCommand < BulkTest
  def command(*argv)
    out = StringIO.new
    err = StringIO.new
    [Trunkline::Bulk::Command.run(argv, out: out, err: err), out.string, err.string]
  end

  def urls(server, count = 5)
    File.write(path("urls.txt"), Array.new(count) { |number| server.url("/#{number}\n") }.join)
    path("urls.txt")
  end

  def teardown
    Dir[path("*.state")].each { |file| Trunkline::Bulk::State::SQLite.forget(file) }
    super
  end

  def read(file)
    case file
    when /\.gz\z/ then Zlib::GzipReader.zcat(File.open(file, "rb"))
    when /\.zst\z/ then Zstd::StreamingDecompress.new.decompress(File.binread(file))
    else File.read(file, encoding: Encoding::UTF_8)
    end.lines.map { |line| JSON.parse(line) }
  end

  %w[jsonl jsonl.gz jsonl.zst].each do |ending|
    define_method(:"test_results_in_#{ending}") do
      server = serve { |target| target == "/2" ? [404, "none"] : [200, "ok"] }
      status, out, err = command("run", urls(server), "--out", path("r.#{ending}"), "--no-progress")
      assert_equal [0, ""], [status, err]
      assert_match(/run: done, 5 done, 0 failed of 5/, out)
      rows = read(path("r.#{ending}")).sort_by { |row| row["key"] }
      assert_equal [200, 200, 404, 200, 200], rows.map { |row| row["status"] }
      assert_equal ["trunkline-bulk/run/2", server.url("/2"), nil, 1, 4],
                   rows[2].values_at("key", "url", "error", "attempts", "bytes")
    end
  end

  def test_results_in_a_table
    server = serve { [200, "body"] }
    status, = command("run", urls(server), "--out", path("r.sqlite"), "--fields", "key,status,body,headers")
    assert_equal 0, status
    rows = SQLite3::Database.new(path("r.sqlite")).execute("SELECT status, body, headers FROM results")
    assert_equal [[200, "body", %({"content-length":"4"})]] * 5, rows
  end

  # Replaces Apache Arrow, whose packages are not Debian's: it writes JSON of the columns instead of Parquet.
  ARROW = <<~RUBY
    module Arrow
      Table = Struct.new(:columns) do
        def save(path, format:) = File.write(path, [format, columns].to_json)
      end
    end
  RUBY

  def test_results_in_parquet_are_written_at_the_end_of_each_start
    Dir.mkdir(path("arrow"))
    File.write(path("arrow/parquet.rb"), ARROW)
    held = Queue.new # responses after the first 150 wait until it is closed
    requests = 0
    server = serve { ((requests += 1) > 150 && held.pop) || [200, "ok", "X-Name: caf\u00e9\r\n"] }
    argv = ["run", urls(server, 300), "--out", path("r.parquet"), "--slice", "20", "--fields", "key,status,headers"]
    code = <<~RUBY
      $LOAD_PATH.unshift(#{path("arrow").inspect})
      require "trunkline/bulk/command"
      Trunkline::Bulk::Results::Parquet.send(:remove_const, :ROWS)
      Trunkline::Bulk::Results::Parquet::ROWS = 250
      exit Trunkline::Bulk::Command.run(#{argv.inspect} + ENV["MORE"].to_s.split)
    RUBY
    pid = Programs.start(code, path("output"))
    eventually("results are there") { File.size?(path("r.parquet.jsonl")).to_i > 1000 }
    Programs.kill(pid)
    refute_path_exists path("r.parquet")
    held.close
    pid = Programs.start(code, path("output"), { "MORE" => "--resume" })
    assert_predicate Process.wait2(pid).last, :success?
    first, second = %w[r.parquet r.1.parquet].map { |name| JSON.parse(File.read(path(name), encoding: "UTF-8")) }
    assert_equal ["parquet", %w[key status headers], 250], [first[0], first[1].keys, first[1]["key"].size]
    assert_equal({ "content-length" => "2", "x-name" => "caf\u00e9" }, JSON.parse(first[1]["headers"][0]))
    assert_equal 300, (first[1]["key"] | second[1]["key"]).size
  end

  def test_results_in_parquet_without_its_gem
    skip "red-parquet is there" if Gem.loaded_specs.key?("red-parquet")

    status, _, err = command("run", urls(serve), "--out", path("r.parquet"))
    assert_equal 2, status
    assert_match(/need the gem red-parquet, and Apache Arrow's libraries/, err)
  end

  def test_bodies_in_files
    server = serve { |target| [200, "body of #{target}"] }
    command("run", urls(server), "--out", path("r.jsonl"), "--bodies", path("bodies"))
    rows = read(path("r.jsonl"))
    rows.each { |row| assert_equal "body of #{URI(row["url"]).path}", File.read(path("bodies/#{row["file"]}")) }
  end

  def test_what_fails_is_told_and_tried_again
    dead = serve.tap(&:stop)
    file = urls(dead, 2)
    out = path("r.jsonl")
    assert_equal 1, command("run", file, "--out", out, "--hold", "0.1")[0]
    assert_match(/\AConnectError: /, read(out).first["error"])
    assert_match(/0 done, 2 failed/, command("status", out)[1])
    serve(dead.port)
    assert_match(/0 failed/, command("retry-failed", out)[1])
    assert_match(/is there already/, command("run", file, "--out", out)[2])
    assert_equal 0, command("run", file, "--out", out, "--resume")[0]
    assert_equal [200, 200], read(out).filter_map { |row| row["status"] }
  end

  def test_killed_and_resumed
    server = serve { sleep(0.01) && [200, "ok"] }
    file = urls(server, 400)
    argv = ["run", file, "--out", path("r.jsonl"), "--concurrency", "5", "--slice", "50", "--no-progress"]
    code = "require 'trunkline/bulk/command'; exit Trunkline::Bulk::Command.run(#{argv.inspect})"
    pid = Programs.start(code, path("output"))
    eventually("results are there") { File.exist?(path("r.jsonl")) && File.size(path("r.jsonl")) > 1000 }
    Programs.kill(pid)
    File.write(path("r.jsonl"), %({"key":"cut), mode: "a")
    assert_equal 0, command(*argv, "--resume")[0]
    assert_equal 400, read(path("r.jsonl")).map { |row| row["key"] }.uniq.size
  end

  def test_each_line_that_is_no_url_has_a_row
    server = serve
    File.write(path("urls.jsonl"), "\uFEFF\"#{server.url}/é\"\n{\"url\":\n{\"uri\":\"x\"}\n5\n\"not a url\"\n")
    status, out, = command("run", path("urls.jsonl"), "--out", path("r.jsonl"))
    assert_equal 1, status
    assert_match(/1 done, 4 failed of 5/, out)
    rows = read(path("r.jsonl")).sort_by { |row| row["key"] }
    assert_equal [200, nil, nil, nil, nil], rows.map { |row| row["status"] }
    assert_equal [%({"url":), nil, "5", "not a url"], rows.drop(1).map { |row| row["url"] }
    assert_match(/\ABulk::InvalidItem: no JSON: /, rows[1]["error"])
    rows.drop(2).each { |row| assert_match(/\AInvalidRequest: (url|request): must be /, row["error"]) }
  end

  def test_a_csv_of_other_programs
    server = serve
    File.write(path("urls.csv"), "\uFEFFurl,name\n#{server.url}/é,x\n")
    assert_equal 0, command("run", path("urls.csv"), "--out", path("r.jsonl"))[0]
    File.write(path("bad.csv"), "url\n#{server.url}/2\n\"#{server.url}/3\n")
    status, _, err = command("run", path("bad.csv"), "--out", path("bad.jsonl"))
    assert_equal 4, status
    assert_match(/bad.csv: Unclosed quoted field in line 3.*--resume/m, err)
    refute_match(/usage/, err)
    File.write(path("other.csv"), "URL\n#{server.url}/4\n")
    assert_match(/has no column "url", but "URL"/, command("run", path("other.csv"), "--out", path("o.jsonl"))[2])
  end

  def test_in_any_locale
    server = serve
    File.write(path("urls.txt"), "\uFEFF#{server.url}/é\n")
    argv = ["run", path("urls.txt"), "--out", path("r.jsonl")]
    pid = Programs.start("require 'trunkline/bulk/command'; exit Trunkline::Bulk::Command.run(#{argv.inspect})",
                         path("output"), { "LC_ALL" => "C" })
    assert_predicate Process.wait2(pid).last, :success?, File.read(path("output"))
    assert_equal ["/%C3%A9"], server.counts.keys
  end

  def test_what_it_tells_of_itself
    assert_equal [0, "trunkline-bulk #{Trunkline::Bulk::VERSION}\n", ""], command("--version")
    assert_match(/\Ausage: .*--resume.*--hold/m, command("--help")[1])
  end

  def test_what_is_there_is_not_written_over
    file = urls(serve)
    command("run", file, "--out", path("r.jsonl"), "--concurrency", "0") # fails, and leaves no file
    assert_equal 0, command("run", file, "--out", path("r.jsonl"))[0]
    File.write(path("notes.jsonl"), "one line")
    [[], ["--resume"]].each do |more|
      status, _, err = command("run", file, "--out", path("notes.jsonl"), *more)
      assert_equal 2, status
      assert_match(/notes.jsonl is there already, and its run/, err)
    end
    assert_equal "one line", File.read(path("notes.jsonl"))
  end

  def test_wrong_arguments
    server = serve
    file = urls(server)
    { [] => /a command is needed/, %w[fly] => /unknown command fly/, ["run", file] => /needs --out/,
      ["run", path("none"), "--out", path("r.jsonl")] => /cannot be read/,
      ["run", file, "--out", path("r.txt")] => /out: must be/,
      ["run", file, "--out", path("r.jsonl"), "--fields", "nothing"] => /fields: must be/,
      ["run", file, "--out", path("r.jsonl"), "--concurrency", "many"] => /concurrency: must be/,
      ["run", file, "--out", path("r.jsonl"), "--fields", ""] => /fields: must be/,
      ["run", file, "--out", path("none/r.jsonl")] => /cannot be written: No such file/,
      ["run", @folder, "--out", path("r.jsonl")] => /cannot be read/,
      ["status", path("r.jsonl")] => /there is no run/ }.each do |argv, message|
      status, _, err = command(*argv)
      assert_equal 2, status, argv.inspect
      assert_match message, err
    end
    assert_equal 0, server.total
  end
end
