# frozen_string_literal: true

require_relative "../test_helper"
require "minitest/mock"
require "open3"
require "pty"
require "stringio"
require "tmpdir"
require "trunkline/command"

class TestCommand < TrunklineTest
  EXE = File.expand_path("../../exe/trunkline", __dir__)
  COMMAND = [RbConfig.ruby, "-w", "-I", File.expand_path("../../lib", __dir__), EXE].freeze

  # Responds with the content of the request, and with the status in a path such as "/status/404".
  def server
    @server ||= serve do |connection|
      while (request = connection.read_request)
        connection << echo(request)
      end
    end
  end

  def echo(request)
    path, query = request.target.split("?")
    text = "#{request.verb} #{path}?#{query} #{request["Content-Type"]} #{request.body}"
    status = path[%r{\A/status/(\d+)}, 1]
    response_bytes(text, status: status ? "#{status} Named" : "200 OK",
                         "content-type" => "text/plain", "x-sent" => request["Authorization"])
  end

  # Runs the command in a separate process.
  def trunkline(*arguments, input: "", environment: {})
    Open3.capture3({ "NO_COLOR" => nil, "RUBYOPT" => nil }.merge(environment), *COMMAND, *arguments, stdin_data: input)
  end

  # Runs the command in this process.
  def here(*arguments, input: "")
    out = StringIO.new
    err = StringIO.new
    status = Trunkline::Command.new(out: out, err: err, input: StringIO.new(input)).run(arguments)
    [out.string, err.string, status]
  end

  def test_the_body_is_on_standard_output_and_times_on_standard_error
    out, err, status = trunkline("get", server.url("/users"))
    assert_equal "GET /users?  ", out
    assert_match(%r{\A200 OK HTTP/1\.1, new connection, .*total \d+\.\d ms\n\z}, err)
    assert_equal 0, status.exitstatus
  end

  def test_a_host_of_this_machine_needs_no_scheme
    out, = here("get", server.url("/x").delete_prefix("http://"), "-q")
    assert_equal "GET /x?  ", out
  end

  def test_repeats_over_one_connection
    _, err, = here("get", server.url, "--repeat", "3")
    assert_equal 3, err.lines.size
    assert_match(/\A1\. 200 .*new connection/, err.lines.first)
    assert_match(/\A3\. 200 .*kept connection/, err.lines.last)
  end

  def test_json_from_names_and_values
    out, = here("post", server.url("/u"), "--json", "name=Ada", "--json", "age:=36")
    assert_equal 'POST /u? application/json {"name":"Ada","age":36}', out
  end

  def test_json_as_a_document
    out, = here("post", server.url("/u"), "--json", '[{"a": 1}]')
    assert_equal 'POST /u? application/json [{"a":1}]', out
  end

  def test_forms_params_and_standard_input
    out, = here("put", server.url("/u"), "--form", "a=1 2", "--form", "b=x", "--param", "q=ü")
    assert_equal "PUT /u?q=%C3%BC application/x-www-form-urlencoded a=1+2&b=x", out
    out, = here("put", server.url("/u"), "--body", "-", input: "from a pipe")
    assert_equal "PUT /u?  from a pipe", out
  end

  def test_credentials_are_sent_and_not_shown
    _, err, = here("get", server.url, "--basic", "ada:sec:ret", "-i")
    assert_includes err, "< x-sent: Basic #{["ada:sec:ret"].pack("m0")}"
    assert_match(/^> Authorization: \[hidden\]$/i, err)
  end

  def test_curl
    _, err, = here("get", server.url("/x"), "--curl", "--bearer", "sesame")
    assert_match(/^curl .*'Authorization: \[hidden\]'.* #{Regexp.escape(server.url("/x"))}$/, err)
  end

  def test_exit_statuses
    assert_equal [3, 4], [404, 503].map { |code| here("get", server.url("/status/#{code}")).last }
    assert_equal 1, here("get", "http://127.0.0.1:#{refused_port}/").last
  end

  def test_wrong_arguments_print_usage_and_set_the_exit_status
    { [] => 0, ["fetch", "http://a.test"] => 2, ["get"] => 2, ["get", "http://a.test", "x"] => 2,
      ["get", "http://a.test", "--nonsense"] => 2, ["get", "ftp://a.test"] => 2,
      ["get", "http://a.test", "--json", "{"] => 2, ["get", "http://a.test", "--timeout", "0"] => 2 }
      .each do |given, wanted|
      out, err, status = here(*given)
      assert_equal wanted, status, given.inspect
      assert_includes wanted.zero? ? out : err, wanted.zero? ? "Usage:" : "trunkline: "
    end
  end

  def test_a_needless_argument_is_named
    [["get", "http://a.test", "more"], %w[doctor more]].each do |given|
      assert_includes here(*given)[1], "needless argument: more"
    end
  end

  def test_colours_only_on_a_terminal
    shown = +""
    # JRuby's PTY.spawn has no argument for the environment, and its terminal stays open when the program ends.
    PTY.spawn("env", "-u", "RUBYOPT", "-u", "NO_COLOR", *COMMAND, "get", server.url) do |terminal, _, pid|
      shown << terminal.readpartial(1000) until RUBY_ENGINE == "jruby" && shown.include?("200 OK\e[0m")
      Process.kill(:KILL, pid)
    rescue Errno::EIO, EOFError
      Process.wait(pid)
    end
    assert_includes shown, "\e[32m200 OK\e[0m"
    refute_includes here("get", server.url)[1], "\e["
  end

  def test_doctor_lists_libraries_and_limits
    out, _, status = trunkline("doctor")
    assert_equal 0, status.exitstatus, out
    %w[trunkline HTTP/2 br zstd OpenSSL trusted DNS IPv6 clock descriptors].each { |name| assert_includes out, name }
  end

  def test_doctor_names_the_engine
    out, = trunkline("doctor", environment: { "TRUNKLINE_ENGINE" => nil })
    found = Trunkline::ENGINE == :c ? ":c" : ":ruby, "
    assert_match(/^(ok|note) +engine +#{found}/, out) if ENV["TRUNKLINE_ENGINE"].to_s.empty?
    out, = trunkline("doctor", environment: { "TRUNKLINE_ENGINE" => "ruby" })
    assert_match(/^ok +engine +:ruby, /, out)
  end

  def test_doctor_tells_why_the_extension_was_not_built
    Dir.mktmpdir do |folder|
      assert_match(/one without it/, Trunkline::Command::MissingExtension.reason(folder).first)
      File.write("#{folder}/extconf.rb", "")
      assert_equal "the reason is not known", Trunkline::Command::MissingExtension.reason(folder).first
      File.write("#{folder}/extension_missing.txt", "there is no C compiler\n")
      assert_equal ["there is no C compiler", "when that is there: gem pristine trunkline"],
                   Trunkline::Command::MissingExtension.reason(folder)
    end
  end

  def test_doctor_suggests_how_to_install_missing_libraries
    skip "the engine in Ruby is built with nothing" unless Trunkline::ENGINE == :c
    libraries = { openssl: "OpenSSL 3", zlib: "1", nghttp2: nil, brotli: nil, zstd: nil }
    out, _, status = Trunkline::Engine.stub(:libraries, libraries) { here("doctor") }
    assert_equal 0, status
    assert_match(%r{^note +HTTP/2 +not built in: .*\n +-> apt-get install libnghttp2-dev}, out)
  end

  def test_doctor_finds_missing_authorities_and_hides_credentials
    out, _, status = trunkline("doctor", environment: { "SSL_CERT_FILE" => "/nowhere", "SSL_CERT_DIR" => "/nowhere",
                                                        "https_proxy" => "http://ada:secret@proxy.test:3128" })
    assert_equal 1, status.exitstatus
    assert_match(/^FAULT +trusted CAs +none.*\n +-> apt-get install ca-certificates/, out)
    assert_match(%r{^note +SSL_CERT_FILE +/nowhere cannot be read, and is left out\n +-> unset it}, out)
    assert_includes out, "http://[hidden]@proxy.test:3128"
    refute_includes out, "secret"
  end

  def test_features
    features = Trunkline.features
    assert_equal Trunkline::VERSION, features[:version]
    assert_equal Trunkline::Engine::CODINGS, features[:codings].join(", ")
    assert_equal features[:http2], !features[:libraries][:nghttp2].nil? if Trunkline::ENGINE == :c
    assert_match(/\A(JRuby-)?(OpenSSL|LibreSSL)/, features[:libraries][:openssl])
  end
end
