# frozen_string_literal: true

require_relative "../test_helper"

# Only the main Ractor may make calls; in any other a call raises Trunkline's own error.
class TestRactors < TrunklineTest
  # Runs in a separate program, since Ractors leave threads behind.
  PROGRAM = <<~RUBY
    require "trunkline/persistent_http_client"
    require "trunkline/stubs"
    require "trunkline/typhoeus"
    Warning[:experimental] = false
    Thread.report_on_exception = false
    Trunkline::NetHTTP.install!
    URL = "http://127.0.0.1:9".freeze

    def print_outcome
      value = yield
      puts "value \#{value}"
    rescue Exception => error
      error = error.cause while error.is_a?(Ractor::RemoteError)
      puts "\#{error.class} \#{error.message}"
      puts "facts \#{error.phase} \#{error.sent}" if error.is_a?(Trunkline::Error)
    end

    def result(ractor)
      ractor.respond_to?(:value) ? ractor.value : ractor.take
    end

    # Reports the exception that the block raises in another Ractor.
    def elsewhere(&block)
      print_outcome { result(Ractor.new(&block)) }
    end
  RUBY

  CALLS = {
    new: "Trunkline.new(URL, timeout: 1)", get: "Trunkline.get(URL, timeout: 1)",
    configure: "Trunkline.configure { nil }",
    post: "Trunkline.post(URL, body: 'x', timeout: 1)", stubs: "Trunkline::Stubs.use { nil }",
    persistent: "Trunkline::PersistentHttpClient.get(URL)", typhoeus: "Typhoeus::Request.new(URL).run"
  }.freeze

  CALLS.each do |name, call|
    define_method(:"test_#{name}_in_another_ractor") do
      refused_in("elsewhere { #{call} }")
    end
  end

  # The same after calls in the main Ractor, whose state must not be used by other Ractors.
  def test_a_call_in_another_ractor_after_calls_in_the_main_one
    refused_in("Trunkline.get(URL, timeout: 1) rescue nil; " \
               "elsewhere { Trunkline.get(URL, timeout: 1) }")
  end

  def test_a_client_is_not_copied
    refused_in("http = Trunkline.new(URL, timeout: 1); print_outcome { Ractor.new(http) { |copy| copy.get('/') } }")
    refused_in("ractor = Ractor.new { Ractor.receive.get('/') }; " \
               "print_outcome { ractor.send(Trunkline.new(URL, timeout: 1)) }")
  end

  # Each of these objects leads to a client's connections. The Ractor that would get it runs for ever.
  OBJECTS = { client: "http", response: "http.get('/')", request: "http.get('/').request", batch: "http.batch",
              future: "http.async.get('/').tap(&:wait)", async: "http.async", list: "[http]" }.freeze

  # What a client and the default client can still do afterwards.
  GOES_ON = <<~RUBY
    def go_on(http, object)
      Trunkline::Verbs.instance_methods.grep(/get|post/) { |verb| http.public_send(verb, "/") }
      http.request(:get, "/", timeout: 3)
      http.get("/") { |chunk| chunk }
      http.batch { |batch| batch.get("/") }.first.status
      http.each(["/"]) { |_, result| result.status }
      http.async.get("/").value!.status
      http.with(timeout: 2).get("/").json
      Trunkline.get(ENV["SERVER"], timeout: 2).body
      Trunkline.new(ENV["SERVER"], timeout: 2).get("/").body
      case object
      when Trunkline::Response then object.body + object.headers.to_h.to_s + object.json.to_s
      when Trunkline::Batch then object.tap { object.get("/") }.run.first.status
      when Trunkline::Future then object.then(&:status).value!
      when Trunkline::Async then object.get("/").value!.status
      when Trunkline::Client then object.stats && object.close
      end
    end
  RUBY

  { make_shareable: "Ractor.make_shareable(object)",
    move: "Ractor.new { Ractor.receive }.send(object, move: true)" }.each do |way, code|
    OBJECTS.each do |name, object|
      define_method(:"test_#{way}_refuses_a_#{name}_and_all_goes_on") do
        server = serve { |connection| connection << response_bytes("[1]") while connection.read_request }
        output = output_of(<<~RUBY, "SERVER" => server.url)
          #{GOES_ON}
          http = Trunkline.new(ENV["SERVER"], timeout: 2)
          Trunkline.get(ENV["SERVER"], timeout: 2)
          object = #{object}
          print_outcome { #{code} }
          print_outcome { go_on(http, object).then { "goes on" } }
        RUBY
        assert_match(/\A(?:Ractor::|Type|NoMethod)\w*Error .*\nvalue goes on\n\z/, output)
      end
    end
  end

  def test_the_error_says_why_a_client_is_not_shareable
    output = output_of("print_outcome { Ractor.make_shareable(Trunkline.new(URL, timeout: 1)) }")
    assert_match(/\ARactor::Error .*connections, which belong to the main Ractor/, output)
  end

  def test_net_http_goes_its_own_way
    output = output_of("print_outcome { result(Ractor.new { Net::HTTP.allocate.send(:trunkline_enabled?) }) }; " \
                       "print_outcome { Net::HTTP.allocate.send(:trunkline_enabled?) }")
    assert_equal "value false\nvalue true\n", output
  end

  private

  def refused_in(code)
    output = output_of(code)
    assert_match(/\ATrunkline::RactorError .*belong to the main Ractor.*; nothing was sent/, output)
    assert_includes output, "facts queue none"
  end

  def output_of(code, environment = {})
    result = Subprocess.run(PROGRAM + code, environment)
    assert_predicate result.status, :success?, result.err
    result.out
  end
end
