# frozen_string_literal: true

require_relative "support"

# Typhoeus::Response for responses and for failed requests.
class TestTyphoeusResponses < TyphoeusTest
  def test_attributes_of_a_response
    server = serve(response_bytes("hällo", status: "200 Fine", "Content-Type" => "text/plain; charset=utf-8",
                                           "X-A" => "1"))
    response = request(server.url("/x")).run
    assert_equal [200, "hällo", :ok, "No error", "Fine", "1.1"],
                 [response.code, response.body, response.return_code, response.return_message,
                  response.status_message, response.http_version]
    assert_predicate response, :success?
    assert_predicate response, :modified?
    refute_predicate response, :failure?
    refute_predicate response, :timed_out?
    assert_nil response.error
    assert_equal [server.url("/x"), "127.0.0.1", 0, 6.0],
                 [response.effective_url, response.primary_ip, response.redirect_count, response.size_download]
  end

  def test_headers_compare_names_without_case_and_keep_repeated_values
    server = serve("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX-One: 1\r\nContent-Length: 0\r\n\r\n")
    headers = request(server.url).run.headers
    assert_equal [%w[a=1 b=2], "1", nil], [headers["SET-COOKIE"], headers[:"x-one"], headers["x-two"]]
    assert headers.key?("x-ONE")
    assert_equal "1", headers.fetch("X-ONE")
    assert_equal %w[set-cookie X-One Content-Length], headers.keys
  end

  def test_times_are_set_and_in_order
    response = request(serve.url).run
    times = %i[namelookup_time connect_time pretransfer_time starttransfer_time total_time]
      .map { |name| response.public_send(name) }
    assert_equal times.sort, times
    assert_operator response.total_time, :>, 0
    assert_equal [0.0, 0.0], [response.appconnect_time, response.redirect_time]
    assert_equal response.total_time, response.time
  end

  def test_redirects_are_followed_with_followlocation
    server = serve do |connection|
      while (got = connection.read_request)
        connection << (got.target == "/" ? redirect("/there", "X-Way" => "1") : response_bytes("there"))
      end
    end
    stays = request(server.url).run
    assert_equal [302, server.url("/there")], [stays.code, stays.redirect_url]
    goes = request(server.url, followlocation: true).run
    assert_equal [200, "there", 1, server.url("/there")],
                 [goes.code, goes.body, goes.redirect_count, goes.effective_url]
    assert_equal [302, "1"], [goes.redirections.first.code, goes.redirections.first.headers["x-way"]]
    assert_equal 2, goes.response_headers.scan("HTTP/1.1").size
  end

  def test_too_many_redirects
    server = serve do |connection|
      number = 0
      connection << redirect("/#{number += 1}") while connection.read_request
    end
    response = request(server.url, followlocation: true, maxredirs: 3).run
    assert_equal [302, :too_many_redirects, 4], [response.code, response.return_code, server.requests.size]
    assert_kind_of Trunkline::TooManyRedirects, response.error
  end

  # The server's script => [return_code, class of the error inside]
  FAILURES = {
    %i[read close] => [:got_nothing, Trunkline::ConnectionClosed],
    [:read, "garbage\r\n\r\n"] => [:ftp_weird_server_reply, Trunkline::InvalidResponse],
    [:read, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", :close] => [:partial_file, Trunkline::TruncatedBody],
    %i[read stall] => [:operation_timedout, Trunkline::TotalTimeout]
  }.freeze

  def test_failures_raise_nothing_and_keep_the_error_inside
    FAILURES.each do |script, (code, error)|
      limit = code == :operation_timedout ? { timeout_ms: 300 } : {}
      response = request(serve(script: [script]).url, **limit).run
      assert_equal [0, code, "", ""], [response.code, response.return_code, response.body, response.response_headers]
      assert_instance_of error, response.error
      assert_predicate response, :failure?
      refute_predicate response, :success?
    end
  end

  def test_refused_and_malformed
    refused = request("http://127.0.0.1:#{refused_port}").run
    assert_equal [0, :couldnt_connect, "Couldn't connect to server"],
                 [refused.code, refused.return_code, refused.return_message]
    ["", "http://", "http://a b/"].each do |url|
      assert_equal [0, :url_malformat], [request(url).run.code, request(url).run.return_code], url
    end
  end

  def test_timed_out
    response = request(serve(script: [%i[read stall]]).url, timeout_ms: 100).run
    assert_predicate response, :timed_out?
    assert_took 0.1, response.total_time, 0.09
  end

  def test_failonerror_is_a_failure_without_a_body
    server = serve(response_bytes("why", status: "404 Not Found"))
    response = request(server.url, failonerror: true).run
    assert_equal [404, :http_returned_error, ""], [response.code, response.return_code, response.body]
    assert_equal "why", request(server.url).run.body
  end

  def test_maxfilesize
    response = request(serve(response_bytes("x" * 100)).url, maxfilesize: 10).run
    assert_equal [:filesize_exceeded, 200, ""], [response.return_code, response.code, response.body]
    assert_kind_of Trunkline::BodyTooLarge, response.error
    assert_equal "x" * 100, request(serve(response_bytes("x" * 100)).url, "maxfilesize" => 100).run.body
  end

  def test_304_is_not_modified
    refute_predicate request(serve("HTTP/1.1 304 Not Modified\r\n\r\n").url).run, :modified?
  end

  def test_trailers_stand_behind_the_head
    response = request(serve(chunked_response("a", trailers: { "X-Sum" => "1" })).url).run
    assert response.response_headers.end_with?("\r\n\r\nX-Sum: 1\r\n")
    assert_nil response.headers["x-sum"]
  end

  def test_options_have_all_facts_and_may_be_changed
    response = request(serve(response_bytes("ok")).url).run
    assert_equal [200, :ok, "ok"], response.options.values_at(:response_code, :return_code, :response_body)
    response.options[:response_body] = "other"
    response.options[:response_code] = 500
    assert_equal ["other", 500], [response.body, response.code]
  end

  def test_marshal
    response = request(serve(response_bytes("ok", "X-A" => "1")).url).run
    read = Marshal.load(Marshal.dump(response))
    assert_equal [200, "ok", "1", :ok], [read.code, read.body, read.headers["x-a"], read.return_code]
    assert_equal response.request.base_url, read.request.base_url
  end

  def test_a_copy_shares_nothing
    response = request(serve(response_bytes("ok", "X-A" => "1")).url).run
    copy = response.dup
    copy.body << "!"
    copy.headers["X-A"] = "2"
    assert_equal %w[ok 1], [response.body, response.headers["x-a"]]
  end

  def test_made_of_options
    response = Typhoeus::Response.new(code: 200, body: "x", headers: { "A" => %w[1 2] }, mock: true)
    assert_predicate response, :success?
    assert_equal [%w[1 2], "HTTP/1.1 200 OK\r\nA: 1,2"], [response.headers["a"], response.response_headers]
  end

  def test_made_of_heads
    raw = "HTTP/1.1 302 Found\r\nA: 0\r\n\r\nHTTP/1.1 404 Gone\r\nA: b\r\n c\r\nA: d\r\n\r\n"
    response = Typhoeus::Response.new(response_headers: raw, return_code: :ok)
    assert_equal [404, "Gone", ["b c", "d"]], [response.code, response.status_message, response.headers["a"]]
    assert_equal ["0"], response.redirections.map { |one| one.headers["a"] }
  end

  def test_header_changes_by_any_spelling
    header = Typhoeus::Response::Header.new("A" => "1", "B" => "2")
    header["a"] = "3"
    assert_equal({ "B" => "2", "a" => "3" }, header.to_h)
    assert_equal "2", header.delete("b")
    header.update("C" => "4").reject! { |name, _| name == "a" }
    assert_equal({ "C" => "4" }, header.to_h)
    assert_nil header["A"]
    assert_equal "5", header.merge("c" => "5")["C"]
    assert_equal "4", header["c"]
    assert_raises(KeyError) { header.fetch("nothing") }
  end
end
