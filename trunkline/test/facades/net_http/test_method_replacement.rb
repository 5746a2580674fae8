# frozen_string_literal: true

require_relative "../../test_helper"
require "json"
require_relative "../../support/old_net_http"

# Hooks of Net::HTTP see the same calls with install! as without, in any order of installation. Each combination runs in
# a separate process, because a hook cannot be removed.
class TestNetHTTPMethodReplacement < TrunklineTest
  # The ways in which agents hook Net::HTTP. Each hook reports the methods that it sees, and the exceptions that they
  # raise.
  HOOKS = {
    # used by Semian, OpenTelemetry, Sentry, Datadog, AppSignal, Elastic APM
    prepended: <<~RUBY,
      module Hook
        %i[request connect transport_request].each do |name|
          define_method(name) { |*given, &block| seen(name, given, "started: \#{started?}") { super(*given, &block) } }
        end
      end
      Net::HTTP.prepend(Hook)
    RUBY
    # used by httplog, New Relic
    aliased: <<~RUBY
      class Net::HTTP
        alias plain_request request
        alias plain_connect connect
        def request(*given, &block) = seen(:request, given, "started: \#{started?}") { plain_request(*given, &block) }
        def connect = seen(:connect, [], "started: \#{started?}") { plain_connect }
      end
    RUBY
  }.freeze

  INSTALL = "require \"trunkline/net_http\"; Trunkline::NetHTTP.install!; Trunkline::NetHTTP.install!\n"

  PRELUDE = <<~RUBY
    require "json"
    require "net/http"
    HOST, PORT, CLOSED = ARGV[0], Integer(ARGV[1]), Integer(ARGV[2])
    SEEN = []
    def seen(name, given, *more)
      (given.first["x-hook"] = name.to_s) if given.first.is_a?(Net::HTTPGenericRequest)
      SEEN << [name, *more]
      yield.tap { |result| SEEN << [name, result.respond_to?(:code) ? result.code : nil] }
    rescue StandardError => error
      SEEN << [name, error.class.name]
      raise
    end
    def record(name)
      SEEN << ["-- " + name]
      SEEN << ["result", yield]
    rescue StandardError => error
      SEEN << ["raised", error.class.name]
    end
    def http(port = PORT) = Net::HTTP.new(HOST, port, nil).tap { |one| one.max_retries = 0 }
  RUBY

  CALLS = <<~RUBY
    record("get") { http.get("/a").body }
    record("post") { http.post("/a", "b", "X-A" => "1").body }
    record("form") { Net::HTTP.post_form(URI("http://\#{HOST}:\#{PORT}/a"), "a" => "1").body }
    record("stream") { http.request_get("/a") { |response| response.read_body { |piece| SEEN << ["piece", piece] } }.code }
    record("session") { http.start { |one| [one.get("/a").code, one.post("/b", "").code] } }
    record("a connection that ends") { http.start { |one| [one.get("/close").code, one.get("/a").code] } }
    record("idle") { http.tap { |one| one.keep_alive_timeout = 0.1 }.start { |one| [one.get("/a"), sleep(0.2), one.get("/a")].last.code } }
    record("refused") { http(CLOSED).get("/") }
    record("broken") { http.start { |one| [(one.get("/broken") rescue $!.class), one.get("/a").code] } }
    record("timeout") { http.tap { |one| one.read_timeout = 0.1 }.get("/slow") }
    record("nonsense") { http.get("/nonsense") }
    record("own error") { http.request_get("/a") { raise ArgumentError } }
    puts JSON.generate(SEEN)
  RUBY

  { "the newest" => ["", {}], "the oldest" => [OldNetHTTP::PRELUDE, OldNetHTTP::ENVIRONMENT] }.each do |edition, given|
    HOOKS.each do |way, hook|
      define_method(:"test_what_is_#{way}_sees_the_same_with_#{edition.tr(" ", "_")}_edition") do
        plain, before, after = ["", INSTALL, nil].map do |install|
          Thread.new { run_program(install ? [install, hook] : [hook, INSTALL], *given) }
        end.map(&:value)
        assert_includes plain, ["connect", nil]
        assert_equal plain, before, "install! before the hook"
        assert_equal plain, after, "install! after the hook"
      end
    end
  end

  # Installs both kinds of hooks, in the order of OpenTelemetry after httplog.
  def test_prepended_and_aliased_hooks_run_as_without_the_facade
    parts = [HOOKS[:aliased], HOOKS[:prepended]]
    plain, *others = [parts, [INSTALL, *parts], [parts[0], INSTALL, parts[1]], [*parts, INSTALL]].map do |program|
      Thread.new { run_program(program, "", {}) }
    end.map(&:value)
    others.each { |seen| assert_equal plain, seen }
  end

  def test_a_redefined_connect_stays_in_use
    server = serve(response_bytes("ok"))
    out, err, status = Subprocess.run_command({}, [RbConfig.ruby, "-I", Subprocess::LIB, "-e", <<~RUBY])
      require "net/http"
      class Net::HTTP
        def connect = @socket = Net::BufferedIO.new(TCPSocket.new("127.0.0.1", #{server.port}))
      end
      #{INSTALL * 2}
      puts Net::HTTP.new("nowhere.invalid", 1, nil).get("/").body, Trunkline::NetHTTP.installed?
    RUBY
    assert_predicate status, :success?, err
    assert_equal %w[ok false], out.split
    assert_equal 1, err.scan("another Net::HTTP#connect (-e:3)").size, err
  end

  private

  def run_program(parts, prelude, environment)
    server = serve { |connection| play(connection) }
    command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, "-e", [prelude, PRELUDE, *parts, CALLS].join("\n"),
               "127.0.0.1", server.port.to_s, refused_port.to_s]
    out, err, status = Subprocess.run_command(environment, command)
    skip "net-http #{OldNetHTTP::VERSION} is not installed" if status.exitstatus == OldNetHTTP::MISSING
    assert_predicate status, :success?, err
    JSON.parse(out)
  end

  def play(connection)
    while (request = connection.read_request)
      case request.target
      when "/close" then return connection << response_bytes("x", "Connection" => "close")
      when "/broken" then return
      when "/slow" then return connection.stall
      when "/nonsense" then return connection << "nonsense\r\n\r\n"
      else connection << response_bytes("#{request.verb} #{request.body} #{request["x-hook"]}")
      end
      break if request["connection"] == "close"
    end
  end
end
