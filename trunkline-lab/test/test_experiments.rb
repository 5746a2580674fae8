# frozen_string_literal: true

require_relative "test_helper"
require "json_schemer"
require "minitest/mock"

module Trunkline
  module Lab
    # Each experiment as small as it can be, by the clients that are always there.
    class TestExperiments < Minitest::Test
      include Running

      SCHEMA = JSONSchemer.schema(Pathname(Result::SCHEMA))
      CLIENTS = %w[--client trunkline,net_http].freeze

      def experiment(*argv)
        measured(*argv) do |result, out|
          assert_empty(SCHEMA.validate(result).map { |problem| problem["error"] })
          assert_fits(result)
          yield result, out
        end
      end

      # Each table on a usual terminal, but those of facts, which are told in words.
      def assert_fits(result)
        return if result["state"] == "facts"

        result["tables"].each do |table|
          drawn = Output::TextTable.new(table.transform_keys(&:to_sym), width: 80) { |text| text }.to_s

          assert_match(/\A\+-/, drawn, "#{result["command"]} is too wide")
        end
      end

      # Those that were measured or named with the reason.
      def limits(result, rows) = (rows.map(&:first) | result["missing"].keys).select { |label| Limits.row?(label) }.sort

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

      # Of somebody's own server, the request is repeated as it was given unless another kind is asked for.
      def test_sweep_makes_the_kinds_of_calls_that_it_is_asked_for
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

      # @return [Proc] a script that keeps the requests, and answers each with the JSON that it brought
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
        paths = gets.map(&:target) - ["/x?a=1"] # the first call of all

        assert_operator paths.size, :>, 5
        assert_empty(paths.tally.select { |_, times| times > 1 })
        paths.each { |path| assert_match(%r{\A/x\?a=1&\d+\z}, path) }
        assert_equal ["/x?a=1"], posts.map(&:target).uniq
        assert_equal posts.size, posts.map { |post| JSON.parse(post.body).fetch("order") }.uniq.size
      end

      def test_an_answer_that_is_no_json_is_told
        script = ->(connection) { connection.answer("no JSON") while connection.request }
        Origins::Scripted.open(script) do |server|
          assert_match(/nothing to measure: Trunkline: JSON::ParserError/,
                       refused("sweep", "#{server.plain}/", "5", "1", "-c", "1", "--calls", "json", status: FAILED))
        end
      end

      def titles(result) = result["tables"].map { |table| table["title"] }

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

      def test_two_loads_have_samples_enough_for_a_verdict
        Dir.mktmpdir do |folder|
          files = %w[a.json b.json].map { |name| File.join(folder, name) }
          files.each { |file| lab("load", "-n", "200", "-c", "2", "--quiet", "--json", file, "short") }
          result = JSON.parse(File.read(files.first))

          assert_empty(SCHEMA.validate(result).map { |problem| problem["error"] })
          result["figures"].each { |figure| assert_operator figure["samples"].size, :>=, 16, figure["name"] }
          status, out, = lab("compare", *files)

          assert_equal DONE, status
          assert_match(/Of 6 figures: /, out)
          refute_includes out, "too few samples"
        end
      end

      # 20 calls of 10 ms each by one connection take 200 ms, but should have started within 20 ms.
      def test_load_with_a_rate_tells_what_waiting_for_a_turn_cost
        skip "without nginx, how long an answer takes is another matter" unless Origins::Nginx.available?
        experiment("load", "-n", "20", "-c", "1", "-q", "1000", "slow") do |result, out|
          uncorrected, corrected = result["data"].values_at("latency", "corrected").map do |counts|
            Histogram.of(counts)
          end

          assert_operator corrected.median, :>, uncorrected.median * 2
          assert_includes out, "From when each request should have started, at 1000.0/s"
        end
      end

      def test_load_over_tls_sends_what_it_is_told
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

      def test_load_speaks_the_version_that_is_asked_for
        skip "Puma speaks no HTTP/2" unless Origins::Nginx.available?
        { "2" => "2", "auto" => "2", "1.1" => "1.1" }.each do |asked, spoken|
          experiment("load", "-n", "20", "-c", "5", "--tls", "--http", asked, "short") do |_, out|
            assert_match(/^HTTP Version: +#{Regexp.escape(spoken)}$/, out)
            assert_match(/^Complete requests: +20$/, out)
            assert_match(/^Keep-Alive requests: +19$/, out) if spoken == "2"
          end
        end
      end

      # @return [Proc] a script: the first request of all is answered well, the others as is told
      def after_the_first(status)
        first = true
        lambda do |connection|
          while connection.request
            connection.answer("answer", status: first ? "200 OK" : status)
            first = false
          end
        end
      end

      def test_a_server_that_errs_later_is_told
        Origins::Scripted.open(after_the_first("503 Service Unavailable")) do |server|
          status, out, = lab("load", "-n", "5", "#{server.plain}/")

          assert_equal FAILED, status
          assert_match(/^Non-2xx responses: +5$/, out)
          assert_includes out, "5 of 5 calls failed: 5 answered 503."
        end
        { "500 Internal Server Error" => "0.0 % were refused (429 or 503), 100.0 % failed",
          "429 Too Many Requests" => "100.0 % were refused (429 or 503), 0.0 % failed" }.each do |answer, told|
          Origins::Scripted.open(after_the_first(answer)) do |server|
            assert_includes refused("best", "--max", "2", "-z", "0.05", "#{server.plain}/x", status: FAILED),
                            "/x answered no call well: #{told}"
          end
        end
        Origins::Scripted.open(after_the_first("500 Internal Server Error")) do |server|
          assert_match(/nothing to measure: Trunkline: it was answered 500$/,
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

      def test_keepalive_counts_the_connections
        skip "Puma does not count connections" unless Origins::Nginx.available?
        experiment("keepalive", "3", "2", *CLIENTS) do |result, _|
          assert_equal ["GETs of distinct URLs", "POSTs of JSON"], titles(result)
          result["tables"].each do |table|
            opened = %w[kept new].map { |way| table["columns"].index("#{way}: opened") }
            table["rows"].each { |row| assert_equal [1, 3], row.values_at(*opened), row.first }
          end
        end
      end

      def test_clients
        experiment("clients", "5", "2", *CLIENTS) do |result, _|
          rows = result["tables"].first["rows"]

          assert_equal ["Net::HTTP", "Trunkline"], rows.map(&:first).grep_v(/limit/).sort
          assert_equal ["POSTs of JSON"], titles(result)
          assert_equal ["limit: libcurl in C"], limits(result, rows)
          assert_equal %w[client user system total real], result["tables"].first["columns"]
        end
      end

      def test_timeouts_tell_who_asks_twice
        experiment("timeouts", "0.3", *CLIENTS) do |result, _|
          assert_equal "facts", result["state"]
          attempts = result["data"]["clients"].transform_values { |phases| phases["first byte"]["attempts"] }

          assert_equal({ "Trunkline" => 1, "Net::HTTP" => 2 }, attempts)
          result["data"]["clients"]["Trunkline"].each_value { |seen| assert_operator seen["seconds"], :>=, 0.29 }
        end
      end

      def test_safety_tells_replays_and_mixed_up_answers
        experiment("safety", "--no-faults", *CLIENTS) do |result, out|
          columns = result["tables"].first["columns"]
          told = result["tables"].first["rows"].to_h { |row| [row.first, columns.zip(row).to_h] }

          assert_equal %w[no no no no], told["Trunkline"].values_at("POST sent twice", "PUT sent twice",
                                                                    "stray answer taken, at once",
                                                                    "stray answer taken, late")
          assert_equal "yes", told["Net::HTTP"]["PUT sent twice"]
          assert_includes out, "Nothing replayed, mixed up or leaked: Trunkline."
        end
      end

      # With 200 calls, a tenth of them and what a budget has at first are less than 1.2 for each.
      def test_storm_counts_what_reaches_a_server_that_fails
        clients = "trunkline_retry,trunkline_retry_unlimited,faraday_retry"
        experiment("storm", "200", "1", "--client", clients) do |seen, out|
          rows = seen["tables"].last["rows"].to_h { |label, *cells| [label, cells] }
          loads = rows.fetch("Trunkline, retry: true").first(4).map(&:to_f)

          loads.first(2).each { |load| assert_includes 1.05..1.2, load }
          assert_equal [1.0, 1.0], loads.last(2)
          assert_equal %w[3.00x 3.00x 1.00x 1.00x], rows.fetch("Trunkline, budget: false").first(4)
          assert_includes rows.keys | seen["missing"].keys, "Faraday, faraday-retry"
          assert_empty rows.values.map(&:last).uniq - [0], "POSTs that came twice"
          assert_equal "Trunkline #{Trunkline::VERSION}", seen["environment"]["clients"]["Trunkline, retry: true"]
          assert_match(/^At most 1.2 requests for each call, whatever fails: Trunkline, retry: true\.$/, out)
          assert_match(/retries without a budget: the server does not recover/, out)
        end
      end

      # A hedge is paid for by twenty calls, of which the warm-up's may have saved ten.
      def test_tail_measures_the_slowest_answers_and_counts_what_they_cost
        clients = "trunkline_alone,trunkline_hedge,faraday_retry_impatient"
        experiment("tail", "100", "1", "--client", clients) do |result, out|
          rows = result["tables"].last["rows"].to_h { |label, *cells| [label, cells] }

          assert_equal ["0.0 %", 0], rows.fetch("Trunkline").last(2)
          assert_includes 0.0..15.0, rows.fetch("Trunkline, hedge: true")[3].to_f
          assert_equal 0, rows.fetch("Trunkline, hedge: true").last
          assert_includes rows.keys | result["missing"].keys, "Faraday, timeout and retry"
          assert_match(/^Trunkline, hedge: true: p99 [\d.]+ ms, for [\d.]+ % more requests\.$/, out)
          assert_equal %w[sweep bars], result["charts"].map { |chart| chart["kind"] }
        end
      end

      # Net::HTTP tells nothing of its time; ours tells the server's from the wait for Ruby's lock.
      def test_gvl_holds_what_clients_tell_beside_the_server_s_clock
        experiment("gvl", "2", "1", "--busy", "0,2", *CLIENTS) do |result, out|
          rows = result["tables"].first["rows"].to_h { |label, busy, *cells| [[label, busy], cells] }

          assert_equal [["Trunkline", 0], ["Trunkline", 2], ["Net::HTTP", 0], ["Net::HTTP", 2]], rows.keys
          assert_equal %w[- -], rows.fetch(["Net::HTTP", 2])[1, 2]
          whole, _, lock, _, waited = rows.fetch(["Trunkline", 2]).map(&:to_f)

          assert_includes 50.0..whole, lock
          assert_operator lock, :<=, waited
          assert_equal ["lines"], result["charts"].map { |chart| chart["kind"] }
          assert_match(/^timings\.gvl is off the truth by [\d.]+ ms \(median\)/, out)
        end
      end

      def test_tokens_measures_how_late_each_is
        experiment("tokens", "10", "1", "--streams", "1,3", *CLIENTS) do |result, _out|
          rows = result["tables"].first["rows"].to_h { |label, streams, *cells| [[label, streams], cells] }

          assert_equal [["Trunkline", 1], ["Trunkline", 3], ["Net::HTTP", 1], ["Net::HTTP", 3]], rows.keys
          assert_includes 100..230, rows.fetch(["Trunkline", 1]).first
          first, median, last, longest = rows.fetch(["Trunkline", 3]).drop(1).map(&:to_f)

          assert_operator [first, median].min, :>, 0
          assert_operator [median, last, longest], :==, [median, last, longest].sort
          assert_equal %w[bars bars], result["charts"].map { |chart| chart["kind"] }
        end
        assert_match(/--streams none: give numbers/, refused("tokens", "--streams", "none", status: USAGE))
      end

      # Where Rails is installed. What is promised is measured, but not claimed here.
      def test_nplus1_finds_the_calls_of_a_page_and_follows_the_advice
        out = refused("nplus1", "2", "1")

        assert_match(/fewer than 3 calls/, out)
        skip "Rails is not installed" unless rails?
        experiment("nplus1", "5", "2") do |result, text|
          rows = result["tables"].first["rows"]

          assert_equal Commands::Nplus1::WAYS.values, rows.map(&:first)
          before, promised, after = rows.map { |row| row[1].to_f }

          assert_operator before, :>=, 50.0
          assert_operator promised, :<, before
          assert_operator after, :<, before
          assert_match(/^Found: 5 calls to .* one after another \(GET .* x 5\)/, text)
          assert_match(/^Advice: Make them in one batch/, text)
          assert_match(/the promise is off by \d+ % \(median\), (not )?within 25 %\.$/, text)
        end
      end

      def rails?
        Bundle.new(*Commands::Nplus1.bundles.first).environment
      rescue Bundle::Failed
        false
      end

      def test_gvl_refuses_what_is_no_number_of_threads
        assert_match(/--busy two: give numbers/, refused("gvl", "--busy", "two", status: USAGE))
      end

      def test_a_simulation_alone_is_told_as_facts
        %w[storm tail].each do |command|
          experiment(command, "9", "1", "--simulation", "--seed", "5") do |result, out|
            assert_equal "facts", result["state"]
            assert_match(/\ASimulation: /, titles(result).fetch(0))
            assert_equal 1, titles(result).size
            assert_includes out, "seeds from 5 on"
          end
        end
      end

      def test_best_answers_with_a_number_and_a_limiter
        experiment("best", "workers", "--max", "2", "-z", "0.1", "--repeats", "2") do |result, out|
          assert_includes 1..2, result["data"]["use"]
          assert_includes %w[ceiling cpu server], result["data"]["limiter"]
          assert_equal ["GETs of distinct URLs", "POSTs of JSON"], titles(result)
          assert_match(/^GETs of distinct URLs:\nUse #{result["data"]["use"]}/, out)
          assert_match(/^POSTs of JSON:\nUse [12]/, out)
        end
      end

      def test_xml_renders_the_same_document_by_each_builder
        experiment("xml", "1") do |result, _|
          measured = result["tables"].map { |table| table["rows"].map(&:first) }
          named = result["missing"].keys.map { |label| label.delete_suffix(", in Rails") }

          assert_equal 4, measured.size, "a small and a long document, alone and in whole requests"
          measured.each do |labels|
            assert_includes labels, "Trunkline::XML"
            assert_equal %w[Builder Nokogiri Ox Trunkline::XML], (labels | named).grep_v(/limit/).sort
          end
          assert_equal ["limit: a builder in C that does nothing"], limits(result, result["tables"].first["rows"])
          assert_match(/^Percentage of the requests/, result["data"]["reports"]["Trunkline::XML, small"])
        end
      end

      def test_chatty_makes_its_calls_one_after_the_other_and_side_by_side
        experiment("chatty", "2", "1") do |result, _|
          assert_equal ["GETs of distinct URLs", "POSTs of JSON"], titles(result)
          result["tables"].each do |table|
            ways = table["rows"].map(&:first)

            assert_includes ways, "Trunkline, side by side"
            assert_equal Commands::Chatty::WAYS.keys.sort, (ways | result["missing"].keys).sort
          end
        end
      end

      def test_tour_and_report_write_all_experiments_into_one_file_of_each_kind
        Dir.mktmpdir do |folder|
          files = %w[json csv html].to_h { |kind| [kind, File.join(folder, "tour.#{kind}")] }
          status, out, err = tour("--only", "best,clients", "--within", "1", "--keep", File.join(folder, "kept"),
                                  *files.flat_map { |kind, file| ["--#{kind}", file] })

          assert_equal DONE, status, err
          assert_includes out, "2 of 2 experiments."
          results = JSON.parse(File.read(files["json"]))

          assert_equal %w[best clients], results.map { |one| one["command"] }.sort
          results.each { |one| assert_empty(SCHEMA.validate(one).map { |problem| problem["error"] }) }
          assert_equal results.sum { |one| one["figures"].size }, CSV.read(files["csv"], headers: true).size
          assert_equal 2, File.read(files["html"]).scan("<section").size
          assert_one_page_of(File.join(folder, "kept"), results.size)
        end
      end

      # By few clients.
      def tour(*options)
        few = [Peer.named("trunkline"), Peer.named("net_http")]
        Peer.stub(:all, few) { lab("tour", "--quiet", *options) }
      end

      def assert_one_page_of(folder, size)
        status, out, = lab("report", folder)

        assert_equal DONE, status
        assert_includes out, "Written: #{folder}/report.html"
        assert_equal size, File.read(File.join(folder, "report.html")).scan("<section").size
      end

      def test_fewer_rounds_are_measured_when_there_is_little_time
        experiment("clients", "2", "9", "--within", "0", "--client", "net_http", "--no-limits") do |result, out|
          assert_equal [3], result["figures"].map { |figure| figure["samples"].size }
          assert_includes out, "For want of time 3 rounds were measured, not 9."
          assert_includes out, "real is the median of 3 runs"
        end
      end
    end
  end
end
