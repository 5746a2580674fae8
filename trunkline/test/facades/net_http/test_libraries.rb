# frozen_string_literal: true

require_relative "../../test_helper"
require "json"
require "zlib"
require_relative "../../support/old_net_http"

# Libraries built on Net::HTTP, each in its own process, before and after install!: the same results and requests, fewer
# connections. Each runs with the newest net-http and with the oldest.
class TestNetHTTPLibraries < TrunklineTest
  # Each program reports its results with record(...). `rounds` is the number of repetitions.
  PROGRAMS = {
    httparty: <<~RUBY,
      require "httparty"
      rounds do
        record HTTParty.get(PLAIN + "/json", query: { a: "ü" }).parsed_response
        record HTTParty.post(SECURE + "/echo", body: { b: 1 }, ssl_ca_file: CA, headers: { "X-ODD" => "1" }).body
        record HTTParty.get(PLAIN + "/moved").body
        record HTTParty.get(PLAIN + "/gzip").body
        pieces = []
        HTTParty.get(PLAIN + "/chunked", stream_body: true) { |piece| pieces << piece.to_s }
        record pieces.join
        record HTTParty.put(PLAIN + "/echo", multipart: false, body: "text").code
      end
    RUBY
    rest_client: <<~RUBY,
      require "rest-client"
      rounds do
        record JSON.parse(RestClient.get(PLAIN + "/json", params: { a: 1 }))
        record RestClient::Request.execute(method: :post, url: SECURE + "/echo", payload: { b: "ä" }, ssl_ca_file: CA).body
        record RestClient.get(PLAIN + "/moved").body
        record (RestClient.get(PLAIN + "/missing") rescue [$!.class.name, $!.response.code, $!.response.body])
        record (RestClient::Request.execute(method: :get, url: SECURE + "/") rescue $!.class.name)
        record RestClient::Request.execute(method: :get, url: PLAIN + "/chunked", raw_response: true).file.read
        record (RestClient.get("http://127.0.0.1:1/") rescue $!.class.name)
        record (RestClient::Request.execute(method: :get, url: PLAIN + "/slow", read_timeout: 0.2, max_retries: 0) rescue $!.class.name)
      end
    RUBY
    stripe: <<~RUBY,
      require "stripe"
      Stripe.api_base = SECURE
      Stripe.api_key = "sk_test_1"
      Stripe.ca_bundle_path = CA
      Stripe.max_network_retries = 0
      Stripe.enable_telemetry = false
      rounds do
        record Stripe::Customer.retrieve("cus_1").email
        record Stripe::Customer.create(email: "a@b.test").id
        record (Stripe::Customer.retrieve("missing") rescue [$!.class.name, $!.http_status])
      end
    RUBY
    aws: <<~RUBY,
      require "aws-sdk-s3"
      rounds do
        s3 = Aws::S3::Client.new(endpoint: PLAIN, region: "eu-west-1", access_key_id: "a", secret_access_key: "b",
                                 force_path_style: true, retry_limit: 0, http_continue_timeout: 0.1)
        record s3.get_object(bucket: "b", key: "object").body.read
        record s3.put_object(bucket: "b", key: "put object", body: StringIO.new("x" * 100_000)).etag
        record s3.put_object(bucket: "b", key: "empty", body: "").etag
        record s3.list_buckets.buckets.map(&:name)
        pieces = +""
        s3.get_object(bucket: "b", key: "object") { |piece| pieces << piece }
        record pieces
        record s3.head_object(bucket: "b", key: "object").content_length
        record (s3.get_object(bucket: "b", key: "missing") rescue $!.class.name)
        record s3.delete_object(bucket: "b", key: "object").to_h
        log = StringIO.new
        traced = Aws::S3::Client.new(**s3.config.to_h.slice(:region, :credentials, :force_path_style, :retry_limit),
                                     endpoint: PLAIN, http_wire_trace: true, logger: Logger.new(log))
        traced.get_object(bucket: "b", key: "object")
        trace = log.string.lines.grep(/^(opening|<-|->|read)/).map { |line| line[0, 40].gsub(/\d+/, "0") }
        record trace.empty? ? abort("no wire trace") : trace
        Seahorse::Client::NetHttp::ConnectionPool.pools.each(&:empty!)
        record Net::HTTP.post_form(URI(PLAIN + "/echo"), "beside" => "the SDK").body
        record Net::HTTP.post(URI(PLAIN + "/echo"), "beside").body
        record Net::HTTP.start(URI(PLAIN).host, URI(PLAIN).port) { |http|
          http.request(Net::HTTP::Put.new("/echo", "content-length" => "1").tap { |it| it.body_stream = StringIO.new("p") }).body
        }
      end
    RUBY
    open_uri: <<~RUBY,
      require "open-uri"
      rounds do
        record URI.open(PLAIN + "/json").read
        record URI.open(SECURE + "/gzip", ssl_ca_cert: CA, "X-Own" => "1").read
        record (URI.open(PLAIN + "/missing") rescue [$!.class.name, $!.message, $!.io.read])
        sizes = []
        record URI.open(PLAIN + "/moved", progress_proc: ->(size) { sizes << size }).then { |io| [io.base_uri.path, io.status, io.charset] }
        record sizes.last
      end
    RUBY
    mechanize: <<~RUBY,
      require "mechanize"
      rounds do
        agent = Mechanize.new { |it| it.ca_file = CA; it.user_agent_alias = "Linux Firefox" }
        page = agent.get(PLAIN + "/page")
        record page.title
        record page.link_with(text: "gzip").click.body
        record page.form_with(action: "/echo") { |form| form["name"] = "ü" }.submit.body
        record agent.get(SECURE + "/page").links.map(&:href)
        record (agent.get(PLAIN + "/missing") rescue [$!.class.name, $!.response_code])
        agent.shutdown
      end
    RUBY
    faraday: <<~RUBY,
      require "faraday"
      require "faraday/net_http"
      rounds do
        faraday = Faraday.new(PLAIN) { |it| it.request(:url_encoded); it.adapter(:net_http) }
        record faraday.get("/json", a: 1).then { |it| [it.status, it.body, it.headers["content-type"], it.reason_phrase] }
        record faraday.post("/echo", b: 2).body
        record faraday.get("/gzip").body
        pieces = []
        faraday.get("/chunked") { |request| request.options.on_data = ->(piece, _size, _env) { pieces << piece } }
        record pieces.join
        record Faraday.new(SECURE, ssl: { ca_file: CA }).get("/json").body
        record (Faraday.get(SECURE) rescue $!.class.name)
        record (Faraday.get("http://127.0.0.1:1/") rescue $!.class.name)
        record (faraday.get("/slow") { |request| request.options.timeout = 0.2 } rescue $!.class.name)
      end
    RUBY
    net_http_persistent: <<~RUBY
      require "net/http/persistent"
      rounds do
        http = Net::HTTP::Persistent.new(name: "test")
        http.ca_file = CA
        http.socket_options << [Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, 1]
        record http.request(URI(PLAIN + "/json")).body
        record http.request(URI(SECURE + "/gzip")).body
        record http.request(URI(PLAIN + "/echo"), Net::HTTP::Post.new("/echo").tap { |it| it.body = "b" }).body
        record (http.request(URI("http://127.0.0.1:1/")) rescue [$!.class.name, $!.message])
        http.shutdown
      end
    RUBY
  }.freeze

  # One connection for each server, and one for each response that was abandoned.
  MOST_CONNECTIONS = Hash.new(1).merge(rest_client: 4, faraday: 4).freeze

  PROGRAM = <<~RUBY
    require "json"
    require "stringio"
    PLAIN, SECURE, CA = ARGV
    RESULTS = []
    def record(value) = RESULTS << value
    def rounds(&block) = 2.times(&block)
    at_exit { $stdout.puts JSON.generate(RESULTS) unless $! }
  RUBY
  INSTALL = "require \"trunkline/net_http\"; Trunkline::NetHTTP.install!\n"

  PAGE = "<title>ü</title><a href='/gzip'>gzip</a><form action='/echo' method='post'><input name='name'></form>"
  BUCKETS = "<ListAllMyBucketsResult><Buckets><Bucket><Name>one</Name></Bucket></Buckets></ListAllMyBucketsResult>"

  # Libraries that cannot be loaded with the oldest net-http.
  NEW_ONLY = %i[faraday].freeze

  PROGRAMS.each do |name, program|
    define_method(:"test_#{name}") { compare(name, PROGRAM, program, environment) }
    next if NEW_ONLY.include?(name)

    define_method(:"test_#{name}_with_the_oldest_edition") do
      compare(name, OldNetHTTP::PRELUDE + PROGRAM, program, environment.merge(OldNetHTTP::ENVIRONMENT))
    end
  end

  private

  def compare(name, prelude, program, environment)
    runs = ["", INSTALL].map { |install| Thread.new { use(prelude + install + program, environment) } }
    plain, patched = runs.each { |run| run.report_on_exception = false }.map(&:value)
    assert_equal plain[:results], patched[:results]
    refute_empty patched[:results]
    assert_equal plain[:requests], patched[:requests]
    assert_operator patched[:connections].sum, :<, plain[:connections].sum
    assert_operator patched[:connections].max, :<=, MOST_CONNECTIONS[name]
  end

  # @return [Hash] the program's results, the requests received, and the connections of the plain and the TLS server
  def use(program, environment)
    servers = [serve { |connection| play(connection) }, serve_tls { |connection| play(connection) }]
    arguments = [servers[0].url(""), servers[1].url("", host: "localhost"), TestCA.ca_file]
    command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, "-e", program, *arguments]
    out, err, status = Subprocess.run_command(environment, command)
    skip "net-http #{OldNetHTTP::VERSION} is not installed" if status.exitstatus == OldNetHTTP::MISSING
    assert_predicate status, :success?, err
    { results: JSON.parse(comparable(out.lines.last, servers)), connections: servers.map(&:connection_count),
      requests: servers.map { |server| once(server.requests).map { |request| comparable(request.raw, servers) } } }
  end

  # Removes the requests to a slow path, which Net::HTTP itself repeats.
  def once(requests) = requests.reject { |request| request.target == "/slow" }

  # Removes the proxies of the machine's environment.
  def environment
    %w[http_proxy https_proxy HTTP_PROXY HTTPS_PROXY].to_h { |name| [name, nil] }.merge("HOME" => Dir.tmpdir)
  end

  # Removes parts that differ between runs: ports, times, signatures, random identifiers; and the Connection field,
  # which install! changes.
  def comparable(text, servers)
    text = text.b
    servers.each { |server| text.gsub!(server.port.to_s, "PORT") }
    text.gsub(/^(connection|keep-alive|authorization|idempotency-key|x-amz-date|amz-sdk-\S+|user-agent|
                 x-stripe-client-\S+|x-goog-api-client): .*\r\n/xi, "")
      .gsub(/\h{8}-\h{4}-\h{4}-\h{4}-\h{12}/, "UUID")
  end

  def play(connection)
    while (request = connection.read_request)
      connection << "HTTP/1.1 100 Continue\r\n\r\n" if request["expect"]
      return connection.stall if request.target == "/slow"

      bytes = response(request)
      bytes = bytes[/.*?\r\n\r\n/m] if request.verb == "HEAD"
      connection << bytes
      break if request["connection"] == "close"
    end
  end

  def response(request)
    case request.target
    when %r{\A/json} then json_response({ "target" => request.target })
    when "/echo" then response_bytes("#{request.verb} #{request.body}", "Content-Type" => "text/plain")
    when "/moved" then redirect("/json")
    when "/gzip"
      response_bytes(Zlib.gzip("unpacked"), "Content-Encoding" => "gzip", "Content-Type" => "text/plain")
    when "/chunked" then chunked_response("one", "two", "three")
    when "/page" then response_bytes(PAGE, "Content-Type" => "text/html; charset=utf-8")
    when "/token" then json_response({ access_token: "at", expires_in: 3600, token_type: "Bearer" })
    when %r{\A/v1/customers(/cus_1)?\??\z} then json_response({ id: "cus_1", object: "customer", email: "a@b.test" })
    when %r{\A/v1/} then json_response({ error: { type: "invalid_request_error" } }, status: "404 Not Found")
    else storage(request)
    end
  end

  # Responds like S3.
  def storage(request)
    return response_bytes("gone", status: "404 Not Found") if request.target.include?("missing")
    return response_bytes(BUCKETS, "Content-Type" => "application/xml") if request.target.match?(%r{\A/(?:\?|\z)})
    return response_bytes("", "ETag" => "\"#{request.body.bytesize}\"") if request.verb == "PUT"
    return "HTTP/1.1 204 No Content\r\n\r\n" if request.verb == "DELETE"

    response_bytes("stored", "Content-Type" => "binary/octet-stream")
  end
end
