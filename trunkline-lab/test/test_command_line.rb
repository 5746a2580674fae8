# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "socket"

module Trunkline
  module Lab
    class TestCommandLine < Minitest::Test
      include Running

      def test_help_names_every_command
        status, out, = lab("--help")

        assert_equal DONE, status
        CLI::COMMANDS.each { |name| assert_match(/^  #{name} /, out) }
      end

      def test_each_command_has_help_and_takes_the_common_options
        CLI::COMMANDS.each do |name|
          status, out, = lab(name, "--help")

          assert_equal DONE, status
          assert_includes out, "trunkline-lab #{name}"
          assert_includes out, "--html"
        end
      end

      def test_version
        assert_equal [DONE, "trunkline-lab #{VERSION}, trunkline #{Trunkline::VERSION}\n", ""], lab("--version")
      end

      def test_bad_input_is_reported_in_one_sentence
        assert_match(/no command "bogus"; there are sweep/, refused("bogus"))
        assert_match(/"nonsense" is not a URL/, refused("load", "nonsense"))
        assert_match(/"ftp:/, refused("load", "ftp://127.0.0.1/"))
        assert_match(/invalid option: --bogus/, refused("load", "--bogus", "short"))
        assert_match(/-n must be more than 0/, refused("load", "-n", "0", "short"))
        assert_match(/"not-a-url" is not a URL: give http/, refused("sweep", "not-a-url"))
        assert_match(/"not-a-url" is not a URL: give http/, refused("sweep", "not-a-url", "10", "2"))
        assert_match(/"FETCH" is not a method: GET/, refused("sweep", "FETCH", "http://127.0.0.1/"))
        assert_match(/give a URL/, refused("sweep", "post"))
        assert_match(/REQUESTS and REPEATS/, refused("sweep", "short", "many"))
        assert_match(/no client "unknown"; there are async_http/, refused("clients", "--client", "unknown"))
        ["a", "5..1", ",", "1,,x"].each do |list|
          assert_match(/#{Regexp.escape(list.inspect)}: give numbers/, refused("sweep", "short", "-c", list))
        end
        assert_match(/give two files/, refused("compare", "one.json"))
        assert_match(/is not a folder/, refused("report", "/nonexistent"))
        assert_match(/give "Name: value"/, refused("load", "-H", "nothing", "short"))
        assert_match(/invalid argument: --http 3/, refused("load", "--http", "3", "short"))
        assert_match(/port: must be a number from 1 to 65535/, refused("load", "http://127.0.0.1:99999/"))
        assert_match(/no client ""; there are/, refused("clients", "--client", ","))
        assert_match(/no experiment ""; there are/, refused("tour", "--only", ","))
        ["p99>50", "p101>5ms", "p99=5ms", "errors>5ms", "requests/s<5s", "speed>1", ""].each do |limit|
          assert_match(/#{Regexp.escape(limit.inspect)}: give p50/, refused("load", "--fail-if", limit, "short"))
        end
        assert_match(/-1.0: give seconds/, refused("clients", "--within", "-1"))
      end

      def test_a_file_that_cannot_be_read_or_written_is_reported_before_the_measurement
        message = %r{\Atrunkline-lab: /nonexistent/x cannot be written: there is no such folder}

        assert_match(message, refused("clients", "--json", "/nonexistent/x", status: FAILED))
        assert_match(message, refused("sweep", "short", "--article", "/nonexistent/x", status: FAILED))
        assert_match(message, refused("tour", "--html", "/nonexistent/x", status: FAILED))
        assert_match(/cannot be written: no right to, or no file/, refused("xml", "--csv", Dir.tmpdir, status: FAILED))
        assert_match(/"" cannot be written/, refused("clients", "--html", "", status: FAILED))
        assert_match(%r{/nonexistent: No such file}, refused("load", "-D", "/nonexistent", "short"))
        assert_match(%r{/nonexistent: No such file}, refused("load", "--ca-file", "/nonexistent", "short"))
      end

      def test_a_file_that_is_not_a_result_is_reported_in_one_sentence
        Dir.mktmpdir do |folder|
          file = File.join(folder, "x.json")
          { "{" => /is not JSON/, "[]" => /is not a result of trunkline-lab/ }.each do |text, message|
            File.write(file, text)

            assert_match(message, refused("compare", file, file, status: FAILED))
            assert_match(message, refused("report", folder, status: FAILED))
          end
          File.delete(file)

          assert_match(/cannot be read: No such file/, refused("compare", file, file, status: FAILED))
          assert_match(/there are no results/, refused("report", folder, status: FAILED))
        end
      end

      def test_missing_clients_are_reported_in_one_sentence
        skip "wreq can be had here" if Gem::Version.new(RUBY_VERSION) >= Gem::Version.new("3.3")
        [%w[clients 1 1], %w[keepalive 1 1], %w[sweep short 1 1 -c 1], %w[timeouts 0.1],
         %w[safety --no-faults]].each do |command|
          assert_match(/nothing to measure: wreq: needs Ruby/,
                       refused(*command, "--client", "wreq", status: FAILED))
        end
      end

      def test_a_refused_connection_is_reported_in_one_sentence
        server = TCPServer.new("127.0.0.1", 0)
        port = server.addr[1]
        server.close

        assert_match(/127\.0\.0\.1:#{port} failed connecting/,
                     refused("load", "http://127.0.0.1:#{port}/", status: FAILED))
      end

      def test_a_failed_handshake_is_reported_in_one_sentence
        Origins::Scripted.open(:stall.to_proc) do |server|
          assert_match(/it was in the TLS handshake/, refused("load", "#{server.tls}/", "-t", "1", status: FAILED))
        end
        skip "nginx is not installed" unless Origins::Nginx.available?
        Origins::Nginx.open do |nginx|
          assert_match(/the server's certificate was not accepted/, refused("best", "#{nginx.tls}/", status: FAILED))
          status, out, = lab("load", "-n", "2", "--ca-file", nginx.ca_file, "#{nginx.tls}/short", "--accept-noise")

          assert_equal DONE, status
          assert_match(/^TLS Protocol: /, out)
        end
      end

      def test_too_high_a_concurrency_is_reported_in_one_sentence
        assert_match(/nothing could be measured: Trunkline: /,
                     refused("sweep", "short", "1", "1", "-c", "9999999", "--no-limits", status: FAILED))
      end

      def test_a_server_that_responds_with_an_error_is_not_measured
        script = lambda do |connection|
          connection.answer("no", status: "500 Internal Server Error") while connection.request
        end
        Origins::Scripted.open(script) do |server|
          message = refused("best", "#{server.plain}/x", status: FAILED)

          assert_match(%r{GET http://127\.0\.0\.1:\d+/x got a response of 500 Internal Server Error: nothing was },
                       message)
        end
      end

      # Nothing is sent: the command is refused before.
      def test_load_beyond_the_limits_for_foreign_servers_needs_an_option
        assert_match(/50 in flight is more than the 20 that are polite towards example\.test/,
                     refused("load", "-c", "50", "http://example.test/"))
        assert_match(/5000 requests is more/, refused("load", "-n", "5000", "http://example.test/"))
        assert_match(/500\.0 requests a second is more/, refused("load", "-n", "10", "-q", "500", "http://example.test/"))
        assert_match(/200 in flight/, refused("sweep", "http://example.test/", "10", "1", "-c", "1..200"))
        assert_match(/100 in flight/, refused("best", "--max", "100", "http://example.test/"))
      end

      def test_own_machine_is_not_foreign
        refute_predicate Target.parse("http://127.0.0.1:80/"), :foreign?
        refute_predicate Target.parse("http://localhost/"), :foreign?
        refute_predicate Target.parse("http://[::1]:3000/"), :foreign?
        assert_predicate Target.parse("http://127.0.0.1.example.test/"), :foreign?
      end

      def test_a_title_describes_the_response_to_each_kind_of_call
        target = Target.new("http://127.0.0.1:1", "/", ca_file: nil, title: "13,801 bytes, from nginx",
                                                       origin: Object.new)
        assert_equal ["13,801 bytes, from nginx", "#{Origins::ORDERS_BODY.bytesize} bytes of JSON, from nginx"],
                     [target.title_of("distinct"), target.title_of("json")]
        assert_equal "http://127.0.0.1/", Target.parse("http://127.0.0.1/").title_of("json")
      end

      # With -z alone the number of calls is not given.
      def test_a_run_limited_by_time_has_the_limits_for_foreign_servers
        arguments = nil
        process = Object.new
        process.define_singleton_method(:ask) { |_, **options| (arguments = options) && raise(Stop, "enough") }
        target = Target.parse("http://example.test/")
        target.define_singleton_method(:probe) { |*, **| nil }
        Target.stub(:open, ->(*, **, &block) { block.call(target) }) do
          PeerProcess.stub(:open, ->(*, **, &block) { block.call(process) }) do
            refused("load", "-z", "600", "http://example.test/", status: FAILED)
          end
        end

        assert_equal [Target::MOST_REQUESTS, Target::MOST_A_SECOND], arguments.values_at(:requests, :rate)
      end

      def test_user_and_password_of_a_url_are_sent_but_not_printed
        seen = nil
        script = lambda do |connection|
          while (request = connection.request)
            seen = request.headers["authorization"]
            connection.answer("done")
          end
        end
        Origins::Scripted.open(script) do |server|
          url = server.plain.sub("//", "//us%20er:pass@")
          _, out, = lab("load", "-n", "1", "#{url}/")

          assert_equal "Basic #{["us er:pass"].pack("m0")}", seen
          refute_includes out, "pass"
          lab("load", "-n", "1", "-H", "authorization: Bearer mine", "#{url}/")

          assert_equal "Bearer mine", seen
        end
      end

      def test_a_url_of_ipv6
        server = TCPServer.new("::1", 0)
        server_thread = Thread.new do
          loop do
            connection = Origins::Scripted::Connection.new(server.accept, 1)
            connection.answer("six") while connection.request
          end
        end
        _, out, = lab("load", "-n", "2", "http://[::1]:#{server.addr[1]}/")

        assert_match(/^Complete requests: +2$/, out)
      rescue Errno::EADDRNOTAVAIL
        skip "no IPv6 here"
      ensure
        server_thread&.kill
        server&.close
      end

      def test_a_url_is_used_as_it_is
        target = Target.parse("https://127.0.0.1:8443/a%20b?c=d&e")

        assert_equal "https://127.0.0.1:8443", target.base
        assert_equal "/a%20b?c=d&e", target.path
      end
    end
  end
end
