# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/running_experiments"

module Trunkline
  module Lab
    # sweep and load, each at its smallest size.
    class TestSweepAndLoad < Minitest::Test
      include RunningExperiments

      def test_sweep_measures_each_concurrency_by_each_client
        experiment("sweep", "short", "20", "2", "-c", "1,3", *CLIENTS) do |result, out|
          assert_equal ["GETs of distinct URLs", "POSTs of JSON"], titles(result)
          result["tables"].each do |table|
            clients = table["rows"].map { |row| row.first(2) }.reject { |label, _| Limits.row?(label) }

            assert_equal [["Net::HTTP", 1], ["Net::HTTP", 3], ["Trunkline", 1], ["Trunkline", 3]], clients
          end
          assert_equal ["limit: libcurl in C", "limit: wrk"], limits(result, result["tables"].first["rows"])
          article = result["data"]["article"]["Trunkline"]

          assert_equal %w[concurrency requests_per_second cpu_percentage], article.first.keys
          assert_equal [0], result["tables"].flat_map { |table| table["rows"].map { |row| row[5] } }.uniq, "errors"
          assert_includes out, "requests/s by concurrency"
        end
      end

      # On a user's server, the given request is repeated unchanged unless another kind of call is requested.
      def test_sweep_makes_the_requested_kinds_of_calls
        seen = []
        Origins::Scripted.open(recording(seen)) do |server|
          experiment("sweep", "#{server.plain}/x?a=1", "5", "1", "-c", "2", "--no-limits") do |result, _|
            assert_equal ["the same call repeated"], titles(result)
            assert_equal [["GET", "/x?a=1"]], seen.map { |request| [request.verb, request.target] }.uniq
          end
          seen.clear
          experiment("sweep", "#{server.plain}/x?a=1", "5", "1", "-c", "2", "--calls", "distinct,json",
                     "--no-limits") do |result, _|
            assert_equal ["GETs of distinct URLs", "POSTs of JSON"], titles(result)
            assert_distinct(seen)
          end
        end
      end

      def test_trunkline_reports_the_number_of_opened_connections
        arrived = Queue.new
        all_at_once = lambda do |connection|
          while connection.request
            arrived << true
            sleep 0.01 until arrived.size >= 3
            connection.answer("hello")
          end
        end
        Origins::Scripted.open(all_at_once) do |server|
          peer = Peer.named("trunkline").new(base: server.plain)

          assert_equal([3, 0], Array.new(2) { opened_by(peer, 3) })
          peer.finish
        end
      end

      def opened_by(peer, count)
        recorder = Recorder.new
        left = Array.new(count, true)
        peer.many(Calls.new(Peer::Call.of, "distinct", -> { left.pop }), count, recorder)
        assert_equal count, recorder.completed
        recorder.to_h[:opened]
      end

      # @return [Proc] a script that stores the requests, and echoes the JSON of each
      def recording(seen)
        lambda do |connection|
          while (request = connection.request)
            seen << request
            connection.answer(request.body.to_s.empty? ? "{}" : request.body)
          end
        end
      end

      def assert_distinct(seen)
        gets, posts = seen.partition { |request| request.verb == "GET" }
        paths = gets.map(&:target) - ["/x?a=1"] # the very first call

        assert_operator paths.size, :>, 5
        assert_empty(paths.tally.select { |_, times| times > 1 })
        paths.each { |path| assert_match(%r{\A/x\?a=1&\d+\z}, path) }
        assert_equal ["/x?a=1"], posts.map(&:target).uniq
        assert_equal posts.size, posts.map { |post| JSON.parse(post.body).fetch("order") }.uniq.size
      end

      def test_a_response_that_is_not_json_is_reported
        script = ->(connection) { connection.answer("no JSON") while connection.request }
        Origins::Scripted.open(script) do |server|
          assert_match(/nothing to measure: Trunkline: JSON::ParserError/,
                       refused("sweep", "#{server.plain}/", "5", "1", "-c", "1", "--calls", "json", status: FAILED))
        end
      end

      def test_sweep_writes_the_form_of_the_article
        Dir.mktmpdir do |folder|
          file = File.join(folder, "article.json")
          tiny = %w[sweep short 5 1 -c 1,2 --no-limits --quiet]
          lab(*tiny, "--client", "net_http", "--article", file)
          points = JSON.parse(File.read(file))

          assert_equal [1, 2], points.map { |point| point["concurrency"] }
          points.each do |point|
            assert_operator point["requests_per_second"], :>, 0
            assert_includes 0..400, point["cpu_percentage"]
          end
          lab(*tiny, *CLIENTS, "--article", file)

          assert_equal %w[Net::HTTP Trunkline], JSON.parse(File.read(file)).keys.sort
        end
      end

      def test_sweep_names_a_client_that_cannot_run
        skip "wreq can be had here" if Gem::Version.new(RUBY_VERSION) >= Gem::Version.new("3.3")
        experiment("sweep", "short", "5", "1", "-c", "1", "--client", "trunkline,wreq") do |result, out|
          assert_match(/needs Ruby >= 3.3/, result["missing"]["wreq"])
          assert_includes out, "wreq: needs Ruby"
        end
      end

      def test_load_keeps_the_labels_of_apachebench_and_their_order
        experiment("load", "-n", "40", "-c", "4", "short") do |result, out|
          labels = ["Server Software:", "Document Path:", "Document Length:", "Concurrency Level:",
                    "Time taken for tests:",
                    "Complete requests:", "Failed requests:", "Requests per second:", "Time per request:",
                    "Connection Times (us)", "Percentage of the requests served"]
          places = labels.map { |label| out.index(label) }

          refute_includes places, nil
          assert_equal places.sort, places
          assert_match(/^Complete requests: +40$/, out)
          assert_match(/^Document Length: +133 bytes$/, out)
          assert_equal 40, result["data"]["latency"].each_value.sum
          assert_empty result["data"]["corrected"]
        end
      end

      def test_two_loads_have_enough_samples_for_a_verdict
        Dir.mktmpdir do |folder|
          files = %w[a.json b.json].map { |name| File.join(folder, name) }
          files.each { |file| lab("load", "-n", "200", "-c", "2", "--quiet", "--json", file, "short") }
          result = JSON.parse(File.read(files.first))

          assert_empty(SCHEMA.validate(result).map { |problem| problem["error"] })
          assert_equal %w[-n 200 -c 2 --quiet --json a.json short], result["arguments"] # the file without its folder
          result["figures"].each { |figure| assert_operator figure["samples"].size, :>=, 16, figure["name"] }
          status, out, = lab("compare", *files)

          assert_equal DONE, status
          assert_match(/Of 6 figures: /, out)
          refute_includes out, "too few samples"
        end
      end

      # 20 calls of 10 ms each on one connection take 200 ms, but at 1000/s they should have started within 20 ms.
      def test_load_with_a_rate_includes_the_wait_before_each_request
        skip "without nginx, the time of a response differs" unless Origins::Nginx.available?
        experiment("load", "-n", "20", "-c", "1", "-q", "1000", "slow") do |result, out|
          uncorrected, corrected = result["data"].values_at("latency", "corrected").map do |counts|
            Histogram.of(counts)
          end

          assert_operator corrected.median, :>, uncorrected.median * 2
          assert_includes out, "From when each request should have started, at 1000.0/s"
        end
      end

      def test_load_sends_the_given_request
        seen = nil
        script = lambda do |connection|
          while (request = connection.request)
            seen = request
            connection.answer("done")
          end
        end
        Origins::Scripted.open(script) do |server|
          experiment("load", "-n", "2", "-m", "post", "-H", "X-Test: yes", "-d", "body",
                     "#{server.plain}/orders?a=1") do
            assert_equal %w[POST /orders?a=1 body], [seen.verb, seen.target, seen.body]
            assert_equal "yes", seen.headers["x-test"]
          end
        end
        experiment("load", "-n", "5", "--tls", "short") { |_, out| assert_match(/^TLS Protocol: +TLSv1\.3/, out) }
      end

      def test_load_uses_the_requested_http_version
        skip "Puma speaks no HTTP/2" unless Origins::Nginx.available?
        { "2" => "2", "auto" => "2", "1.1" => "1.1" }.each do |version, spoken|
          experiment("load", "-n", "20", "-c", "5", "--tls", "--http", version, "short") do |_, out|
            assert_match(/^HTTP Version: +#{Regexp.escape(spoken)}$/, out)
            assert_match(/^Complete requests: +20$/, out)
            # While the handshake of the first connection takes long, the other four calls open their own.
            assert_match(/^Keep-Alive requests: +1[5-9]$/, out) if spoken == "2"
          end
        end
      end

      # @return [Proc] a script that responds to the very first request with 200, to the others with this status
      def after_the_first(status)
        first = true
        lambda do |connection|
          while connection.request
            connection.answer("body", status: first ? "200 OK" : status)
            first = false
          end
        end
      end

      def test_a_server_that_responds_with_an_error_later_is_reported
        Origins::Scripted.open(after_the_first("503 Service Unavailable")) do |server|
          status, out, = lab("load", "-n", "5", "#{server.plain}/")

          assert_equal FAILED, status
          assert_match(/^Non-2xx responses: +5$/, out)
          assert_includes out, "5 of 5 calls failed: 5 with status 503."
        end
        { "500 Internal Server Error" => "0.0 % were refused (429 or 503), 100.0 % failed",
          "503 Service Unavailable" => "100.0 % were refused (429 or 503), 0.0 % failed" }.each do |status, sentence|
          Origins::Scripted.open(after_the_first(status)) do |server|
            assert_includes refused("best", "--max", "2", "-z", "0.05", "#{server.plain}/x", status: FAILED),
                            "/x succeeded: #{sentence}"
          end
        end
        Origins::Scripted.open(after_the_first("500 Internal Server Error")) do |server|
          assert_match(/nothing to measure: Trunkline: its first call had the status 500$/,
                       refused("sweep", "#{server.plain}/", "2", "1", "-c", "1", status: FAILED))
        end
      end

      def test_load_exits_with_1_when_calls_fail
        script = lambda do |connection|
          connection.number == 1 && connection.request && connection.answer("probe")
        end
        Origins::Scripted.open(script) do |server|
          status, out, = lab("load", "-n", "3", "#{server.plain}/")

          assert_equal FAILED, status
          assert_match(/3 of 3 calls failed: 3 Trunkline::/, out)
          assert_match(/^Document Length: +0 bytes$/, out)
        end
      end
    end
  end
end
