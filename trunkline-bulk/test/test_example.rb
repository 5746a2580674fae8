# frozen_string_literal: true

require_relative "test_helper"

# The Rails application in examples/, run as a user would run it.
class TestExample < BulkTest
  PROGRAM = File.expand_path("../../examples/rails_bulk/config.ru", __dir__)

  def setup
    super
    environment = { "DATA" => @folder, "RUBYOPT" => "#{ENV.fetch("RUBYOPT", nil)} -W0", "RAILS_ENV" => "production" }
    @pid = Process.spawn(environment,
                         RbConfig.ruby, *Programs::PATHS, "-S", "puma", "-b", "tcp://127.0.0.1:0", PROGRAM,
                         out: path("log"), err: %i[child out])
  end

  def teardown
    Programs.kill(@pid)
    super
  end

  # @return [String, nil] the address that puma logs
  def address
    log = File.read(path("log"))
    flunk(log) if Process.wait(@pid, Process::WNOHANG)
    log[%r{Listening on (http://127\.0\.0\.1:\d+)$}, 1]
  end

  def run_shown(name)
    @http.get("/bulk/runs.json").json.find { |run| run["key"] == "RefreshFeeds/#{name}" }
  end

  def test_feeds_are_fetched_by_jobs
    origin = serve { |target| target == "/7" ? [404, "none"] : [200, "feed #{target}", "ETag: \"1\"\r\n"] }
    eventually("it runs", 60) { address }
    # A busy Puma, up to 8.0.2, can omit the first lines of a response on a persistent connection (docs/rails.md).
    @http = Trunkline.new(address, timeout: 20, headers: { "Connection" => "close" })
    urls = Array.new(35) { |number| origin.url("/#{number}") } << "http://bad host/"
    assert_equal 201, @http.post("/feeds", json: { urls: urls }).status
    assert_equal 202, @http.post("/refreshes", json: { name: "first" }).status
    eventually("it is done", 30) { run_shown("first")["state"] == "done" }
    assert_equal({ "200" => 34, "404" => 1, "InvalidRequest" => 1 }, run_shown("first")["counts"])
    feeds = @http.get("/feeds").json
    assert_equal ["feed /0", 200], feeds[0].values_at("body", "status")
    assert_match(/Bulk runs/, @http.get("/bulk").body)
  end
end
