# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/calls"
require "trunkline/lab/limits"
require "trunkline/lab/peer"

module Trunkline
  module Lab
    # The requests that each kind of call sends, by the clients and by the programs in C.
    class TestCalls < Minitest::Test
      def calls(kind, path: "/x", more: -> { true }) = Calls.new(Peer::Call.of(path: path), kind, more)

      def assert_distinct(paths, form)
        assert_empty paths.tally.select { |_, times| times > 1 }.keys
        assert_empty paths.grep_v(form)
      end

      def test_a_repeated_call_is_the_same_object
        repeated = calls("repeated")

        assert_same repeated.next, repeated.next
        assert_equal "/x", repeated.next.path
      end

      def test_distinct_urls_are_unique_in_a_process_also_with_threads
        sources = [calls("distinct"), calls("distinct")]
        paths = Array.new(4) do |number|
          Thread.new do
            Array.new(200) do
              sources[number % 2].next.path
            end
          end
        end.flat_map(&:value)

        assert_distinct(paths, %r{\A/x\?\d{7}\z})
        assert_match(%r{\A/x\?a=1&\d{7}\z}, calls("distinct", path: "/x?a=1").next.path)
      end

      def test_json_is_generated_for_each_call_and_parsed_from_each_response
        json = calls("json")
        orders = Array.new(3) { JSON.parse(json.next.body).fetch("order") }

        assert_equal orders.uniq, orders
        assert_equal 2, json.read(200, "{}")
        assert_raises(JSON::ParserError) { json.read(200, "no JSON") }
        assert_equal 7, json.read(429, "no JSON")
        assert_equal 7, calls("distinct").read(200, "no JSON")
      end

      def test_next_returns_nil_when_there_are_no_more_calls
        left = 2
        source = calls("distinct", more: -> { (left -= 1) >= 0 })

        assert_equal [true, true, false], Array.new(3) { !source.next.nil? }
        assert_raises(ArgumentError) { calls("other") }
      end

      # @return [Array<String>] the paths that a server received while the block ran
      def paths_asked_for
        seen = []
        script = lambda do |connection|
          while (request = connection.request)
            seen << request.target
            connection.answer("hello")
          end
        end
        Origins::Scripted.open(script) { |server| yield server.plain }
        seen
      end

      def test_the_libcurl_program_requests_distinct_urls
        [{}, { at_once: 2 }].each do |way|
          paths = paths_asked_for do |base|
            Limits::BareCurl.new(base: base).for_seconds("/x?a=1", 0.1, distinct: true, **way)
          end
          measured = paths - ["/x?a=1"] # the requests that open the connections do not count

          assert_operator measured.size, :>, 2
          assert_distinct(measured, %r{\A/x\?a=1&\d{7}\z})
        end
      rescue Limits::Failed => error
        skip error.message
      end

      def test_wrk_requests_distinct_urls
        paths = paths_asked_for { |base| Limits::Wrk.new(base: base).for_seconds("/x", 1, distinct: true) }

        assert_operator paths.size, :>, 2
        assert_distinct(paths, %r{\A/x\?\d{7}\z})
      rescue Limits::Failed => error
        skip error.message
      end

      def test_the_servers_respond_with_json_and_twelve_header_fields
        origins = [-> { Origins::Puma.open { |origin| yield_orders(origin) } }]
        origins << -> { Origins::Nginx.open { |origin| yield_orders(origin) } } if Origins::Nginx.available?
        origins.each(&:call)
      end

      def yield_orders(origin)
        client = Trunkline.new(origin.plain, timeout: 10)
        response = client.post(Origins::ORDERS, json: { order: 1 }, params: { a: 1 },
                                                headers: { "X-Request-Id" => "one" })

        assert_equal 370, response.body.bytesize
        assert_equal 48_211, response.json["id"]
        assert_equal ["application/json", "one", "W/\"5d41402abc4b2a76\""],
                     %w[content-type x-request-id etag].map { |name| response[name] }
        assert_equal 12, response.headers.count if origin.is_a?(Origins::Nginx)
      ensure
        client&.close
      end

      def test_the_echo_responds_with_the_json_of_the_request
        Origins::Puma.open(app: "echo") do |origin|
          client = Trunkline.new(origin.plain, timeout: 10)
          sent = { "order" => 1, "items" => [{ "sku" => "TL-100" }] }

          assert_equal sent, client.post("/orders", json: sent).json
          assert_equal Origins::ORDERS_BODY, client.get("/orders?1").body
        ensure
          client&.close
        end
      end
    end
  end
end
