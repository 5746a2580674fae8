# frozen_string_literal: true

# Registered before minitest's own hook, so that servers outlive the last test: hooks run last in, first out.
require_relative "support/stop_at_exit"
require "minitest/autorun"
require "timeout"
require_relative "support/raise_warnings"

$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "trunkline"

%w[answers assertions engines free_port full_backlog gauge gc_level httpbin leak_check memory nginx puma_server
   scripted_server subprocess test_ca time_limit].each { |name| require_relative "support/#{name}" }

# Every test has a time limit, closes what it opened, and leaves neither descriptors nor threads behind.
class TrunklineTest < Minitest::Test
  include Engines
  include Answers
  include Assertions
  include TimeLimit
  include LeakCheck
  include GCLevel

  # Seconds: more than PATIENCE, so that nothing that a test waits for comes from the timeout of a call.
  DEFAULT_TIMEOUT = 30 * GCLevel::SLOWDOWN

  # The engine in Ruby has those of TLS 1.3, and a key log, where openssl for Ruby has them.
  CIPHERSUITES = Trunkline::ENGINE == :c || OpenSSL::SSL::SSLContext.method_defined?(:ciphersuites=)
  KEYLOG = Trunkline::ENGINE == :c || OpenSSL::SSL::SSLContext.method_defined?(:keylog_cb=)

  # What is made once for the life of the process is there before the first test counts or takes the time: the engine's
  # reaper, the authorities of the system (tens of milliseconds to read), the thread of Timeout.
  WARM_UP = lambda do
    Metronome.start
    server = ScriptedServer.answering(tls: TestCA.server_context)
    trusting = Trunkline.new(server.url, timeout: 10, ca_file: TestCA.ca_file)
    Timeout.timeout(10) { trusting.get("/") }
    doubting = trusting.with(ca_file: nil)
    begin
      doubting.get("/")
    rescue Trunkline::CertificateError
      true
    end
  ensure
    trusting&.close
    server&.stop
  end

  def before_setup
    @open = [] # first: a test that is left out is torn down, too
    @@warm ||= WARM_UP.call && true # rubocop:disable Style/ClassVars -- once for all test classes
    forget_origins
    super # the time of a test begins
  end

  def after_teardown
    close_everything
    check_leaks if passed?
  ensure
    super
  end

  # What the process knows of an origin, such as that one request at a time is enough for it, must not be taken for a
  # fact of another test's server that has got the same port.
  def forget_origins
    Trunkline::Scheduler::OriginQueue::MEMORY.clear
    Trunkline::Policy::State.clear
  end

  # A client that is closed at the end of the test.
  def client(base = nil, timeout: DEFAULT_TIMEOUT, **options)
    opened(Trunkline.new(*[base].compact, timeout: timeout, **options))
  end

  # A client that trusts the authority of this run.
  def secure_client(base = nil, **options) = client(base, ca_file: TestCA.ca_file, **options)

  # serve { |connection| ... }, serve(script: [...]), serve("bytes of every answer")
  def serve(bytes = nil, **options, &block)
    return opened(ScriptedServer.new(**options, &block)) if block || options[:script]

    opened(ScriptedServer.answering(bytes || answer, **options))
  end

  def serve_tls(bytes = nil, identity: :localhost, context: {}, **options, &block)
    serve(bytes, tls: TestCA.server_context(identity, **context), **options, &block)
  end

  def serve_rack(**options, &application) = opened(PumaServer.new(**options, &application))

  # A port of this machine on which nobody listens. It is held until the test is over: nobody else gets it, not even as
  # the port that a connection to it goes out from, which would then be answered by itself.
  def refused_port
    socket = opened(Socket.new(:INET6, :STREAM))
    socket.bind(Addrinfo.tcp("::", 0)) # the same port of IPv4, too
    socket.local_address.ip_port
  end

  # Keeps what must be closed or stopped when the test is over, last opened first.
  def opened(thing)
    @open << thing
    thing
  end

  private

  # All of it, also when closing one of them raises: a scripted server reports there what went wrong in its script.
  def close_everything
    failures = @open.reverse.filter_map do |thing|
      thing.respond_to?(:stop) ? thing.stop : thing.close
      nil
    rescue StandardError, Minitest::Assertion => error
      error
    end
    @open.clear
    raise failures.first unless failures.empty?
  end
end
