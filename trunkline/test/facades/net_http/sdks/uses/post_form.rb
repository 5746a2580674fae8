# frozen_string_literal: true

require "zlib"

# Net::HTTP's own short forms, and sessions.
class PostFormSDK < SDK
  about "Net::HTTP's short forms", gem: "net-http", over: "Net::HTTP"

  def respond(request)
    case request.target
    when "/gzip" then response_bytes(Zlib.gzip("unpacked"), "Content-Encoding" => "gzip")
    when "/chunked" then chunked_response("one", "two", trailers: { "X-Sum" => "2" })
    when "/old" then "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end".b
    else response_bytes("#{request.verb} #{request.body}", "Content-Type" => "text/plain")
    end
  end

  def call
    require "net/http"
    record("get") { Net::HTTP.get(URI("#{url}/a?b=%C3%A9")) }
    record("post_form") { Net::HTTP.post_form(URI("#{url}/form"), "a" => "é", "b" => %w[1 2]).body }
    record("post") { Net::HTTP.post(URI("#{url}/post"), "text", "Content-Type" => "text/plain").code }
    record("gzip") { Net::HTTP.get(URI("#{url}/gzip")) }
    record("chunked") { Net::HTTP.get_response(URI("#{url}/chunked")).then { |response| [response.body, response["x-sum"]] } }
    record("HTTP/1.0") { Net::HTTP.get_response(URI("#{url}/old")).then { |response| [response.http_version, response.body] } }
    record("session") { Net::HTTP.start(uri.host, uri.port) { |http| [http.get("/1").body, http.delete("/2").body] } }
    record("upload") { session_upload }
  end

  private

  def session_upload
    request = Net::HTTP::Put.new("/stream", "Transfer-Encoding" => "chunked", "Content-Type" => "text/plain")
    request.body_stream = StringIO.new("p" * 100_000)
    Net::HTTP.start(uri.host, uri.port) { |http| http.request(request).body.bytesize }
  end
end
