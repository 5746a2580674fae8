# frozen_string_literal: true

require_relative "test_helper"

# Every error carries its facts and a readable message.
class TestErrors < TrunklineTest
  stressable

  TREE = {
    ConnectionError: :Error, ResolveError: :ConnectionError, ConnectError: :ConnectionError,
    TLSError: :ConnectionError, CertificateError: :TLSError, ConnectionClosed: :ConnectionError,
    ForkedConnection: :ConnectionError, TimeoutError: :Error, ResolveTimeout: :TimeoutError,
    ConnectTimeout: :TimeoutError, TLSTimeout: :TimeoutError, WriteTimeout: :TimeoutError,
    FirstByteTimeout: :TimeoutError, ReadTimeout: :TimeoutError, QueueTimeout: :TimeoutError,
    TotalTimeout: :TimeoutError, BreakerOpen: :Error, ProtocolError: :Error, InvalidResponse: :ProtocolError,
    HeadersTooLarge: :ProtocolError, TruncatedBody: :ProtocolError, DecodeError: :ProtocolError,
    BodyTooLarge: :ProtocolError, RedirectError: :Error, TooManyRedirects: :RedirectError,
    RedirectLoop: :RedirectError, UnsafeRedirect: :RedirectError, BodyError: :Error, StatusError: :Error,
    ClientError: :StatusError, ServerError: :StatusError, ClosedError: :Error
  }.freeze
  PHASES = %i[queue resolve connect tls write first_byte read].freeze

  def test_the_tree_of_error_classes
    TREE.each { |name, parent| assert_operator Trunkline.const_get(name), :<, Trunkline.const_get(parent) }
    assert_operator Trunkline::Error, :<, StandardError
    assert_operator Trunkline::MissingTimeout, :<, ArgumentError
    assert_operator Trunkline::InvalidRequest, :<, ArgumentError
  end

  def test_refused
    port = refused_port
    error = assert_raises_with(Trunkline::ConnectError, phase: :connect, sent: :none, attempt: 1) do
      client.get("http://127.0.0.1:#{port}/path")
    end
    assert_facts_of(error)
    assert_includes error.message, "127.0.0.1:#{port}"
    assert_match(/refused/i, error.message)
    assert_nil error.connection_age
  end

  def test_a_name_without_an_address
    error = assert_raises_with(Trunkline::ResolveError, phase: :resolve, sent: :none) do
      client.get("http://no-such-name.invalid/")
    end
    assert_facts_of(error)
    assert_includes error.message, "no-such-name.invalid"
  end

  def test_reset_before_a_response
    server = serve(script: [%i[read reset]])
    error = assert_raises_with(Trunkline::ConnectionClosed, phase: :first_byte, sent: :all) { client(server.url).get("/") }
    assert_facts_of(error)
    assert_kind_of Float, error.connection_age
  end

  def test_an_invalid_response
    server = serve("HTTP/1.1 2x0 OK\r\n\r\n")
    error = assert_raises_with(Trunkline::InvalidResponse, sent: :all) { client(server.url).get("/") }
    assert_facts_of(error)
    assert_match(/status/i, error.message)
  end

  def test_attempts_of_an_error
    server = serve(script: [%i[read reset]])
    error = assert_raises(Trunkline::ConnectionClosed) { client(server.url).get("/") }
    assert_equal 1, error.attempts.size
    attempt = error.attempts.first
    assert_equal [1, :all], [attempt.number, attempt.sent]
    refute_nil attempt.error
    assert_includes attempt.address, server.port.to_s
  end

  def test_the_message_says_whether_the_server_has_the_request
    server = serve(script: [%i[read reset]])
    seen = assert_raises(Trunkline::Error) { client(server.url).get("/") }
    unseen = assert_raises(Trunkline::Error) { client.get("http://127.0.0.1:#{refused_port}/") }
    assert_match(/server has the whole request/, seen.message)
    assert_match(/nothing .* sent/, unseen.message)
  end

  def test_credentials_are_in_no_message
    port = refused_port
    http = client(bearer: "geheim-1", headers: { "X-Api-Key" => "geheim-2" })
    error = assert_raises(Trunkline::ConnectError) { http.get("http://127.0.0.1:#{port}/?token=geheim-3") }
    [error.message, error.inspect, error.full_message, error.request.inspect].each do |text|
      refute_match(/geheim/, text)
    end
  end

  def test_the_password_of_a_url_is_in_no_message
    port = refused_port
    error = assert_raises(Trunkline::Error, ArgumentError) { client.get("http://user:geheim@127.0.0.1:#{port}/") }
    refute_match(/geheim/, error.message)
  end

  def test_the_backtrace_points_to_the_caller
    error = assert_raises(Trunkline::ConnectError) { client.get("http://127.0.0.1:#{refused_port}/") }
    assert_includes error.backtrace.join, File.basename(__FILE__)
  end

  WITHOUT_DESCRIPTORS = <<~RUBY
    begin
      client = Trunkline.new(ENV.fetch("SERVER"), timeout: 10)
      Process.setrlimit(:NOFILE, 64)
      under_way = client.get("/", stream: true)
      files = []
      begin
        loop { files << File.open(File::NULL) }
      rescue Errno::EMFILE
        client.get("/")
      end
      under_way.close
    rescue Trunkline::ConnectError => error
      puts error.sent, error.phase, error.errno == Errno::EMFILE::Errno, error.message
    end
  RUBY

  def test_no_descriptor_is_left
    result = Subprocess.run(WITHOUT_DESCRIPTORS, { "SERVER" => serve.url })
    sent, phase, number, message = result.out.lines(chomp: true)
    assert_equal %w[none queue true], [sent, phase, number], result.err
    assert_match(/Too many open files.*; nothing of the request was sent\z/, message)
  end

  def test_every_address_that_failed_is_tried
    error = assert_raises(Trunkline::ConnectError) { client.get("http://localhost:#{refused_port}/") }
    assert_equal :none, error.sent
    assert_match(/localhost/, error.message)
  end

  private

  def assert_facts_of(error)
    assert_includes PHASES, error.phase
    assert_includes %i[none partial all], error.sent
    assert_equal 1, error.attempt
    assert_kind_of Float, error.elapsed
    assert_operator error.elapsed, :<, 5
    assert_equal "GET", error.request.method.to_s
    assert_kind_of Array, error.attempts
    assert_match(/\A\S.{20,}\S\z/m, error.message)
  end
end
