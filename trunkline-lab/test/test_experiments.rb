# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require_relative "support/running_experiments"

module Trunkline
  module Lab
    # Each experiment except sweep and load, at its smallest size.
    class TestExperiments < Minitest::Test
      include RunningExperiments

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

      def test_timeouts_reports_the_attempts_of_each_client
        experiment("timeouts", "0.3", *CLIENTS) do |result, _|
          assert_equal "facts", result["state"]
          attempts = result["data"]["clients"].transform_values { |phases| phases["first byte"]["attempts"] }

          assert_equal({ "Trunkline" => 1, "Net::HTTP" => 2 }, attempts)
          result["data"]["clients"]["Trunkline"].each_value { |seen| assert_operator seen["seconds"], :>=, 0.29 }
        end
      end

      def test_safety_reports_replays_and_mixed_up_responses
        experiment("safety", "--no-faults", *CLIENTS) do |result, out|
          columns = result["tables"].first["columns"]
          rows = result["tables"].first["rows"].to_h { |row| [row.first, columns.zip(row).to_h] }

          assert_equal %w[no no no no], rows["Trunkline"].values_at("POST sent twice", "PUT sent twice",
                                                                    "stray response accepted, at once",
                                                                    "stray response accepted, late")
          assert_equal "yes", rows["Net::HTTP"]["PUT sent twice"]
          assert_includes out, "Replayed, mixed up or leaked nothing: Trunkline."
        end
      end

      # With 200 calls, retries for a tenth of them plus the budget's initial retries make less than 1.2 requests per
      # call.
      def test_storm_counts_the_requests_that_reach_a_failing_server
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
          assert_match(/^At most 1.2 requests per call with each failure: Trunkline, retry: true\.$/, out)
          assert_match(/retries without a budget: the server does not recover/, out)
        end
      end

      # A hedge costs the budget of twenty calls; the warm-up's calls may have saved up for ten hedges.
      def test_tail_measures_the_slowest_responses_and_counts_the_additional_requests
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

      # Net::HTTP reports no timings; Trunkline's separate the server's time from the wait for the GVL.
      def test_gvl_compares_the_reported_times_with_the_clock_of_the_server
        experiment("gvl", "2", "1", "--busy", "0,2", *CLIENTS) do |result, out|
          assert_equal ["GETs of distinct URLs", "POSTs of JSON"], titles(result)
          result["tables"].each { |table| assert_gvl_rows(table["rows"]) }
          assert_equal %w[lines lines], result["charts"].map { |chart| chart["kind"] }
          assert_match(/^timings\.gvl deviates from the actual wait by [\d.]+ ms \(median\)/, out)
        end
      end

      def assert_gvl_rows(table_rows)
        rows = table_rows.to_h { |label, busy, *cells| [[label, busy], cells] }

        assert_equal [["Trunkline", 0], ["Trunkline", 2], ["Net::HTTP", 0], ["Net::HTTP", 2]], rows.keys
        assert_equal %w[- -], rows.fetch(["Net::HTTP", 2])[1, 2]
        whole, _, reported_gvl, _, actual_gvl = rows.fetch(["Trunkline", 2]).map(&:to_f)

        assert_includes 50.0..whole, reported_gvl
        assert_operator reported_gvl, :<=, actual_gvl
      end

      def test_tokens_measures_the_delay_of_each_token
        experiment("tokens", "10", "1", "--streams", "1,3", *CLIENTS) do |result, _out|
          rows = result["tables"].first["rows"].to_h { |label, streams, *cells| [[label, streams], cells] }

          assert_equal [["Trunkline", 1], ["Trunkline", 3], ["Net::HTTP", 1], ["Net::HTTP", 3]], rows.keys
          # The server sends 200 per second; a busy machine may get fewer of them.
          assert_includes 1..230, rows.fetch(["Trunkline", 1]).first
          first, median, last, longest = rows.fetch(["Trunkline", 3]).drop(1).map(&:to_f)

          assert_operator [first, median].min, :>, 0
          assert_operator [median, last, longest], :==, [median, last, longest].sort
          assert_equal %w[bars bars], result["charts"].map { |chart| chart["kind"] }
        end
        assert_match(/--streams none: give numbers/, refused("tokens", "--streams", "none", status: USAGE))
      end

      # Runs where Rails is installed. The predicted effect is measured, but not asserted here.
      def test_nplus1_finds_the_calls_of_a_page_and_follows_the_advice
        out = refused("nplus1", "2", "1")

        assert_match(/fewer than 3 calls/, out)
        skip "Rails is not installed" unless rails?
        experiment("nplus1", "5", "2") do |result, text|
          rows = result["tables"].first["rows"]

          assert_equal Commands::Nplus1::WAYS.values, rows.map(&:first)
          before, predicted, after = rows.map { |row| row[1].to_f }

          assert_operator before, :>=, 50.0
          assert_operator predicted, :<, before
          assert_operator after, :<, before
          assert_match(/^Found: 5 calls to .* one after another \(GET .* x 5\)/, text)
          assert_match(/^Advice: Make them in one batch/, text)
          assert_match(/the prediction is off by \d+ % \(median\), (not )?within 25 %\.$/, text)
        end
      end

      def rails?
        Bundle.new(*Commands::Nplus1.bundles.first).environment
      rescue Bundle::Failed
        false
      end

      def test_gvl_refuses_an_invalid_number_of_threads
        assert_match(/--busy two: give numbers/, refused("gvl", "--busy", "two", status: USAGE))
      end

      def test_a_simulation_alone_has_the_state_facts
        %w[storm tail].each do |command|
          experiment(command, "9", "1", "--simulation", "--seed", "5") do |result, out|
            assert_equal "facts", result["state"]
            assert_match(/\ASimulation: /, titles(result).fetch(0))
            assert_equal 1, titles(result).size
            assert_includes out, "seeds from 5 on"
          end
        end
      end

      def test_best_reports_a_concurrency_and_the_limiter
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

      def test_chatty_makes_its_calls_in_sequence_and_in_parallel
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

      # Runs a tour with few clients.
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

      def test_fewer_rounds_are_measured_when_time_is_short
        experiment("clients", "2", "9", "--within", "0", "--client", "net_http", "--no-limits") do |result, out|
          assert_equal [3], result["figures"].map { |figure| figure["samples"].size }
          assert_includes out, "To keep within the time, 3 rounds were measured instead of 9."
          assert_includes out, "real is the median of 3 runs"
        end
      end
    end
  end
end
