# frozen_string_literal: true

require_relative "../test_helper"

# Each kind of failure, a hundred times: no resource may leak, and memory tools see every branch.
class TestResources < TrunklineTest
  ROUNDS = 100
  HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"

  # branch => [script of every connection, the error]
  BRANCHES = {
    closed_without_a_response: [%i[read close], :ConnectionClosed],
    reset_without_a_response: [%i[read reset], :ConnectionClosed],
    invalid_status: [[:read, "nonsense\r\n\r\n"], :InvalidResponse],
    invalid_field: [[:read, "HTTP/1.1 200 OK\r\nX : 1\r\n\r\n"], :InvalidResponse],
    headers_too_large: [[:read, "HTTP/1.1 200 OK\r\nX: #{"a" * 70_000}\r\n\r\n"], :HeadersTooLarge],
    truncated: [[:read, "#{HEAD}half", :close], :TruncatedBody],
    invalid_chunk: [[:read, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], :InvalidResponse],
    corrupt_gzip: [[:read, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!"],
                   :DecodeError],
    too_large: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n#{"x" * 2000}"], :BodyTooLarge],
    hints_then_closed: [[:read, "HTTP/1.1 103 X\r\nLink: <a>\r\n\r\n", :close], :ConnectionClosed]
  }.freeze

  OPTIONS = { timeout: 10, max_body_bytes: 1000 }.freeze

  BRANCHES.each do |name, (script, error_name)|
    [false, true].each do |tls|
      define_method(:"test_#{name}#{"_over_tls" if tls}") do
        server = tls ? serve_tls(script: [script]) : serve(script: [script])
        many_times do |http|
          assert_kind_of Trunkline.const_get(error_name), assert_raises(Trunkline::Error) { http.get(server.url) }
        end
        assert_equal ROUNDS, server.requests.size
      end
    end
  end

  def test_refused
    url = "http://127.0.0.1:#{refused_port}/"
    many_times { |http| assert_raises(Trunkline::ConnectError) { http.get(url) } }
  end

  def test_unresolved
    many_times { |http| assert_raises(Trunkline::ResolveError) { http.get("http://no-such-name.invalid/") } }
  end

  def test_untrusted
    server = serve_tls(identity: :self_signed)
    many_times { |http| assert_raises(Trunkline::CertificateError) { http.get(server.url) } }
  end

  def test_no_tls_at_all
    server = serve(script: [["nonsense that is no TLS record", :stall]])
    url = server.url.sub("http", "https")
    many_times { |http| assert_raises(Trunkline::TLSError) { http.get(url) } }
  end

  { connect: :ConnectTimeout, first_byte: :FirstByteTimeout, read: :ReadTimeout, total: :TotalTimeout }
    .each do |phase, error_name|
    define_method(:"test_#{phase}_timeout") do
      url = url_stopping_in(phase)
      error_class = Trunkline.const_get(error_name)
      in_threads { |http| assert_raises(error_class) { http.get(url, timeout: { total: 10, phase => 0.05 }) } }
    end
  end

  def test_unread_streams
    server = serve(response_bytes("x" * 100_000))
    many_times(max_body_bytes: 1_000_000) { |http| http.get(server.url, stream: true).close }
  end

  def test_bodies_that_raise
    server = serve
    many_times do |http|
      assert_raises(KeyError) { http.post(server.url, body: Enumerator.new { |out| (out << "x") && raise(KeyError) }) }
    end
  end

  def test_blocks_that_raise
    server = serve(response_bytes("x" * 500))
    many_times { |http| assert_raises(KeyError) { http.get(server.url) { raise KeyError } } }
  end

  def test_invalid_requests
    many_times do |http|
      assert_raises(Trunkline::InvalidRequest) { http.get("http://[") }
      assert_raises(Trunkline::InvalidRequest) { http.get("http://x/", headers: { "a b" => "c" }) }
      assert_raises(Trunkline::MissingTimeout) { Trunkline.new }
    end
  end

  def test_clients_without_a_call
    ROUNDS.times { Trunkline.new("http://127.0.0.1", **OPTIONS) }
    ROUNDS.times { Trunkline.new("http://127.0.0.1", **OPTIONS).close }
  end

  private

  def url_stopping_in(phase)
    return opened(FullBacklog.new).url if phase == :connect

    serve(script: [phase == :read ? [:read, "#{HEAD}half", :stall] : %i[read stall]]).url
  end

  # Runs rounds in parallel, for branches that only wait.
  def in_threads(&call) = Array.new(10) { Thread.new { many_times(ROUNDS / 10, &call) } }.each(&:join)

  # A new client for each round, so that closing it is part of the branch.
  def many_times(rounds = ROUNDS, **options)
    rounds.times do
      http = Trunkline.new(ca_file: TestCA.ca_file, **OPTIONS, **options)
      yield http
      http.close
    end
  end
end
