# frozen_string_literal: true

require "zlib"

# Net::HTTP's own short forms, and sessions.
class PostFormSDK < SDK
  about "Net::HTTP's short forms", gem: "net-http", over: "Net::HTTP"

  def respond(request)
    case request.target
    when "/gzip" then answer(Zlib.gzip("unpacked"), "Content-Encoding" => "gzip")
    when "/chunked" then chunked_answer("one", "two", trailers: { "X-Sum" => "2" })
    when "/old" then "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end".b
    else answer("#{request.verb} #{request.body}", "Content-Type" => "text/plain")
    end
  end

  def call
    require "net/http"
    tell("get") { Net::HTTP.get(URI("#{url}/a?b=%C3%A9")) }
    tell("post_form") { Net::HTTP.post_form(URI("#{url}/form"), "a" => "é", "b" => %w[1 2]).body }
    tell("post") { Net::HTTP.post(URI("#{url}/post"), "text", "Content-Type" => "text/plain").code }
    tell("gzip") { Net::HTTP.get(URI("#{url}/gzip")) }
    tell("chunked") { Net::HTTP.get_response(URI("#{url}/chunked")).then { |response| [response.body, response["x-sum"]] } }
    tell("HTTP/1.0") { Net::HTTP.get_response(URI("#{url}/old")).then { |response| [response.http_version, response.body] } }
    tell("session") { Net::HTTP.start(uri.host, uri.port) { |http| [http.get("/1").body, http.delete("/2").body] } }
    tell("upload") { session_upload }
  end

  private

  def session_upload
    request = Net::HTTP::Put.new("/stream", "Transfer-Encoding" => "chunked", "Content-Type" => "text/plain")
    request.body_stream = StringIO.new("p" * 100_000)
    Net::HTTP.start(uri.host, uri.port) { |http| http.request(request).body.bytesize }
  end
end
