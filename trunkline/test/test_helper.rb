# frozen_string_literal: true

# Registered before minitest's own hook, so that servers outlive the last test: hooks run last in, first out.
require_relative "support/stop_at_exit"
require "minitest/autorun"
require "timeout"
require_relative "support/raise_warnings"

$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "trunkline"

%w[assertions certificate_authority concurrency_probe engines free_port full_backlog gc_level httpbin leak_check memory
   nginx puma_server responses scripted_server subprocess time_limit].each { |name| require_relative "support/#{name}" }

# Every test has a time limit, closes what it opened, and leaves neither descriptors nor threads behind.
class TrunklineTest < Minitest::Test
  include Engines
  include Responses
  include Assertions
  include TimeLimit
  include LeakCheck
  include GCLevel

  # Seconds: more than PATIENCE, so that the timeout of a call never ends what a test waits for.
  DEFAULT_TIMEOUT = 30 * GCLevel::SLOWDOWN

  # The engine in Ruby supports TLS 1.3 cipher suites and a key log only where openssl for Ruby does.
  CIPHERSUITES = Trunkline::ENGINE == :c || OpenSSL::SSL::SSLContext.method_defined?(:ciphersuites=)
  KEYLOG = Trunkline::ENGINE == :c || OpenSSL::SSL::SSLContext.method_defined?(:keylog_cb=)

  # Creates what lives as long as the process, before the first test counts threads or measures time: the engine's
  # reaper, the system's certificate authorities (reading them takes tens of milliseconds), and the thread of Timeout.
  WARM_UP = lambda do
    ClockJitter.start
    server = ScriptedServer.responding(tls: TestCA.server_context)
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
    @open = [] # first: teardown also runs for a skipped test
    @@warm ||= WARM_UP.call && true # rubocop:disable Style/ClassVars -- once for all test classes
    forget_origins
    super # the time limit of a test begins
  end

  def after_teardown
    close_everything
    check_leaks if passed?
  ensure
    super
  end

  # Forgets what the process remembers of an origin, such as that the server takes one request at a time: another test's
  # server may get the same port.
  def forget_origins
    Trunkline::Scheduler::OriginQueue::MEMORY.clear
    Trunkline::Policy::State.clear
  end

  # A client that is closed at the end of the test.
  def client(base = nil, timeout: DEFAULT_TIMEOUT, **options)
    opened(Trunkline.new(*[base].compact, timeout: timeout, **options))
  end

  # A client that trusts the certificate authority of this run.
  def secure_client(base = nil, **options) = client(base, ca_file: TestCA.ca_file, **options)

  # serve { |connection| ... }, serve(script: [...]), serve("bytes of every response")
  def serve(bytes = nil, **options, &block)
    return opened(ScriptedServer.new(**options, &block)) if block || options[:script]

    opened(ScriptedServer.responding(bytes || response_bytes, **options))
  end

  def serve_tls(bytes = nil, identity: :localhost, context: {}, **options, &block)
    serve(bytes, tls: TestCA.server_context(identity, **context), **options, &block)
  end

  def serve_rack(**options, &application) = opened(PumaServer.new(**options, &application))

  # Returns a port of this machine on which nothing listens. The port stays bound until the end of the test, so that no
  # other socket gets it, not even as the local port of a connection to it, which TCP would connect to itself.
  def refused_port
    socket = opened(Socket.new(:INET6, :STREAM))
    socket.bind(Addrinfo.tcp("::", 0)) # also binds the same IPv4 port
    socket.local_address.ip_port
  end

  # Closes or stops the object at the end of the test; the last opened is closed first.
  def opened(thing)
    @open << thing
    thing
  end

  private

  # Closes every object, even when closing one of them raises: a scripted server then reports the errors of its script.
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
