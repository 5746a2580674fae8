# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/call_styles"
require "logger"
require "stringio"
require "trunkline/stubs"

# The options logger:, log:, curl: and redact:
class TestCallLog < TrunklineTest
  include CallStyles

  JSON_ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: id=SECRET\r\nX-Own: SECRET\r\n" \
                "Content-Length: 43\r\n\r\n{\"name\":\"Ada\",\"pin\":1,\"api_token\":\"SECRET\"}"

  def setup
    super
    @out = StringIO.new
    @logger = Logger.new(@out, formatter: ->(level, _, _, text) { "#{level} #{text}\n" })
  end

  def logged(**options) = client(@server.url, logger: @logger, **options)

  def wait_for_text
    sleep 0.05 while @out.string.empty?
    @out.string
  end

  def test_every_call_style_logs_one_line
    each_call_style do |style, call|
      @server = serve(JSON_ANSWER)
      @out.truncate(@out.rewind)
      call.call(logged, :get, "/a?token=SECRET&b=1")
      line = %r{\AINFO GET #{@server.address}/a\?token=\[hidden\]&b=1 200 in \d+ ms \(connect \d+, first byte \d+}
      assert_match(line, wait_for_text, style)
      assert_equal 1, @out.string.lines.size, style
    end
  end

  def test_the_wait_for_rubys_lock
    @server = serve(JSON_ANSWER)
    http = logged
    over = false
    busy = 3.times.map { Thread.new { nil until over } }
    # The log line has no wait for the GVL when the response is there before the caller waits for it.
    http.get("/") until (times = @out.string.match(/ in (\d+) ms \(.*waited (\d+) for Ruby's lock/))
    over = true
    busy.each(&:join)
    total, waited = times.captures.map(&:to_i)
    assert_operator waited, :<=, total
  ensure
    over = true
  end

  def test_errors_and_stubs
    call = -> { logged.get("/") }
    @server = Struct.new(:url).new("http://127.0.0.1:#{refused_port}")
    assert_raises(Trunkline::ConnectError, &call)
    assert_match(%r{/ ConnectError in \d+ ms\n\z}, @out.string)
    Trunkline::Stubs.use do |stubs|
      stubs.get("#{@server.url}/").answer(201)
      call.call
    end
    assert_match(%r{/ 201 in \d+ ms}, @out.string.lines.last)
  end

  def test_headers
    @server = serve(JSON_ANSWER)
    logged(log: :headers, bearer: "SECRET").post("/?b=1", json: { a: 1 }, headers: { "X-Tenant" => "SECRET" })
    lines = @out.string.lines.map(&:strip)
    ["> POST #{@server.url("/?b=1")}", "> Authorization: [hidden]", "> X-Tenant: [hidden]",
     "> Content-Type: application/json", "< 200 OK", "< Content-Type: application/json", "< Set-Cookie: [hidden]"]
      .each { |line| assert_includes lines, line }
    refute_match(/SECRET|Ada/, @out.string)
  end

  def test_bodies
    @server = serve(JSON_ANSWER)
    logged(log: :bodies, redact: %i[pin]).post("/", form: { a: "b", pin: "SECRET" })
    lines = @out.string.lines.map(&:strip)
    assert_includes lines, "> a=b&pin=[hidden]"
    assert_includes lines, '< {"name":"Ada","pin":"[hidden]","api_token":"[hidden]"}'
    refute_includes @out.string, "SECRET"
  end

  def test_a_streamed_body_is_not_read
    @server = serve(JSON_ANSWER)
    response = logged(log: :bodies).get("/", stream: true)
    assert_includes @out.string, "< [a streamed body]"
    assert_includes response.body, "Ada"
    logged(log: :bodies).post("/", body: StringIO.new("x"))
    assert_includes @out.string, "> [a streamed body]"
  end

  def test_bodies_are_cut_and_bytes_are_not_shown
    text = "é" * 5000
    @server = serve("HTTP/1.1 200 OK\r\nContent-Type: text/plain;charset=utf-8\r\nContent-Length: 10000\r\n\r\n#{text}")
    logged(log: :bodies).post("/", body: "\xFF\0".b)
    assert_includes @out.string, "> [2 bytes of no type]"
    assert_includes @out.string, "< #{"é" * 2048}\n  < [the first 4096 of 10000 bytes]"
  end

  def test_control_characters_are_escaped
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\e[31m\nab")
    logged(log: :bodies).get("/")
    assert_includes @out.string, "< \\e[31m\n  < ab\n"
  end

  def test_conditions_under_which_a_call_is_logged
    @server = serve(JSON_ANSWER)
    logged(log: false).get("/")
    client(@server.url).get("/", redact: ["x"])
    logged.get("/", log: false)
    @logger.level = :warn
    logged(log: :bodies).get("/")
    assert_empty @out.string
    warned = []
    client(@server.url, logger: Struct.new(:messages) { def warn(text) = messages << text }.new(warned)).get("/")
    assert_equal 1, warned.size
    [["logger", 1], ["log", :all], %w[redact a], ["redact", [1]], ["curl", 1]].each do |name, value|
      error = assert_raises(Trunkline::InvalidRequest) { client(@server.url, name.to_sym => value) }
      assert_match(/\A#{name}: /, error.message)
    end
  end

  def test_configured_options_apply_to_all_calls
    @server = serve(JSON_ANSWER)
    script = <<~RUBY
      require "trunkline"
      require "logger"
      Trunkline.configure do |c|
        c.timeout = 5
        c.logger = Logger.new($stdout, formatter: ->(_, _, _, text) { text + "\\n" })
        c.redact = [:pin]
      end
      Trunkline.get("#{@server.url}/quiet")
      Trunkline.configure { |c| c.log = :line }
      Trunkline.get("#{@server.url}/?pin=SECRET")
      Trunkline.new("#{@server.url}", redact: ["tan"]).get("/?pin=SECRET&tan=SECRET")
    RUBY
    text = IO.popen([RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script], &:read)
    assert_equal ["?pin=[hidden]", "?pin=[hidden]&tan=[hidden]"], text.scan(/\?\S*/)
    assert_equal 2, text.lines.size
  end

  def test_a_logger_that_raises_harms_no_call
    @server = serve(JSON_ANSWER)
    bad = Object.new
    def bad.info(_) = raise(IOError, "disk full")
    before = Trunkline.logger
    out = StringIO.new
    Trunkline.configure { |config| config.logger = Logger.new(out) }
    assert_equal 200, client(@server.url, logger: bad).get("/").status
    assert_includes out.string, "disk full"
  ensure
    Trunkline.configure { |config| config.logger = before }
  end

  # A shell runs the curl command logged for each request; the server must receive the same request again.
  PASTED = {
    plain: ["GET", "/a?b=c%20d&e[]=1", {}],
    head: ["HEAD", "/", {}],
    fields: ["GET", "/", { headers: { "X-Note" => "it's $HOME `id` \"x\"", "X-Empty" => "" } }],
    json: ["POST", "/a", { json: { "text" => "it's \"€\" $(id)\n@x \\ !" } }],
    form: ["PUT", "/a", { form: { a: "b c", d: "&'" } }],
    at: ["POST", "/a", { body: "@/etc/passwd", headers: { "Content-Type" => "text/plain" } }],
    empty: ["POST", "/a", { body: "" }],
    bare: ["POST", "/a", { body: "x", headers: { "Accept" => nil, "User-Agent" => nil } }],
    nothing: ["POST", "/a", {}],
    delete: ["DELETE", "/a?q='x'", {}]
  }.freeze

  PARTS = { title: "it's; a \"t\",x\\", at: "@/etc/passwd", page: Pathname(__FILE__),
            note: Trunkline::Part.new("a;\"b\\", filename: "n \"1\";.txt", content_type: "text/x-note"),
            more: Trunkline::Part.new("<x", headers: { "X-Own" => "a, \"b\"" }), list: %w[1 2] }.freeze
  FILES = { file: ["PUT", "/a", { body: Pathname(__FILE__), headers: { "Content-Type" => "text/plain" } }],
            multipart: ["POST", "/a", { multipart: PARTS }] }.freeze

  PASTED.merge(FILES).each do |name, (method, path, options)|
    define_method(:"test_a_pasted_command_sends_the_same_#{name}") do
      @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      logged(curl: true).request(method, path, options)
      command = @out.string[/^  (curl .*)\z/m, 1].chomp
      # curl must not load a library that is preloaded into this process, such as a sanitizer.
      assert system({ "LD_PRELOAD" => nil }, "#{command} --silent --noproxy '*' --max-time 10", out: File::NULL)
      ours, pasted = @server.requests.map { |request| comparable(request) }
      assert_equal ours, pasted
    end
  end

  def test_a_pasted_form_hides_credentials
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    logged(curl: true, redact: ["pin"]).post("/", multipart: { pin: "SECRET", "user[password]" => "SECRET", a: "1" })
    assert_equal %w[pin=[hidden] user[password]=[hidden] a=1], @out.string.scan(/ --form-string '([^']*)'/).flatten
    logged(curl: true).post("/", multipart: { token: Trunkline::Part.new("SECRET", headers: { "X-Key" => "SECRET" }) })
    refute_includes @out.string, "SECRET"
  end

  def test_a_pasted_command_hides_credentials
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    logged(curl: true, redact: ["pin"], basic: %w[Ada SECRET])
      .post("/?api_key=SECRET&pin=SECRET", json: { pin: "SECRET", a: 1, token: { b: "SECRET" } },
                                           headers: { "Cookie" => "SECRET", "PIN" => "SECRET" })
    command = @out.string[/^  (curl .*)\z/m, 1].chomp
    refute_includes @out.string, "SECRET"
    assert system({ "LD_PRELOAD" => nil }, "#{command} --silent --noproxy '*' --max-time 10", out: File::NULL)
    ours, pasted = @server.requests
    assert_equal "/?api_key=[hidden]&pin=[hidden]", pasted.target
    assert_equal({ "pin" => "[hidden]", "a" => 1, "token" => "[hidden]" }, JSON.parse(pasted.body))
    names = [ours, pasted].map { |request| request.headers.map { |field, _| field.downcase }.sort }
    assert_equal names.first, names.last
  end

  # Makes a call with options that only decide how the server is reached, and runs the logged curl command in a shell,
  # which must send the same request. Returns the command.
  def pasted(**options)
    logged(curl: true, **options).get("/x")
    command = @out.string[/^  (curl .*)\z/m, 1].chomp
    @out.truncate(@out.rewind)
    assert system({ "LD_PRELOAD" => nil }, "#{command} --silent", out: File::NULL), command
    assert_equal ["GET /x HTTP/1.1\r\n"], @server.requests.map { |request| request.raw.lines.first }.uniq
    assert_equal 2, @server.requests.size
    command
  end

  def test_a_pasted_command_trusts_the_same_certificates
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", tls: TestCA.server_context)
    command = pasted(ca_file: TestCA.ca_file, timeout: { connect: 4, total: 9 })
    assert_match(%r{ --cacert #{TestCA.ca_file} --connect-timeout 4 --max-time 9 }, command)
  end

  def test_a_pasted_command_trusts_all_certificates
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", tls: TestCA.server_context)
    assert_includes pasted(verify: false, http: :h1), " --insecure --http1.1 "
  end

  def test_a_pasted_curl_command_goes_to_the_same_address
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    place = URI(@server.url).then { |url| "#{url.host}:#{url.port}" }
    logged(curl: true, connect_to: place).get("http://api.test/x")
    assert_includes @out.string, " --connect-to api.test:80:#{place} "
    assert system({ "LD_PRELOAD" => nil }, "#{@out.string[/^  (curl .*)\z/m, 1].chomp} --silent", out: File::NULL)
    assert_equal %w[api.test api.test], @server.requests.map { |request| request["host"] }
  end

  def test_a_pasted_command_goes_through_the_same_proxy_with_its_credentials_hidden
    @server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    place = URI(@server.url).then { |url| "#{url.host}:#{url.port}" }
    logged(curl: true, proxy: "http://Ada:SECRET@#{place}").get("http://api.test/x")
    command = @out.string[/^  (curl .*)\z/m, 1].chomp
    refute_includes command, "SECRET"
    assert_includes command, " --proxy http://#{place} --proxy-user '[hidden]:[hidden]' "
    assert system({ "LD_PRELOAD" => nil }, "#{command} --silent", out: File::NULL)
    assert_equal ["http://api.test/x"] * 2, @server.requests.map(&:target)
  end

  private

  # Removes the differences of curl's requests: curl lists the content codings that it can decode, and makes its own
  # boundary; it escapes a quote in the name of a multipart part as browsers do, or, before 7.81, with a backslash.
  def comparable(request)
    fields = request.headers.to_h { |name, value| [name.downcase, value] }.except("accept-encoding")
    boundary = request["content-type"].to_s[/boundary=(.*)/, 1]
    return [request.raw.lines.first, fields, request.body] unless boundary

    [request.raw.lines.first, fields.keys.sort, request.body.gsub(boundary, "B").gsub("\\\"", "%22")]
  end
end
