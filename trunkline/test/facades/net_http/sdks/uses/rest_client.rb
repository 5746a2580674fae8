# frozen_string_literal: true

# Queries, forms, uploads, redirects, raw files, errors.
class RestClientSDK < SDK
  about "RestClient", gem: "rest-client", over: "Net::HTTP"

  def respond(request)
    case request.target
    when %r{\A/json} then json_response({ target: request.target }, "Set-Cookie" => "a=1; path=/")
    when "/echo" then response_bytes("#{request.verb} #{request.body.bytesize}", "Content-Type" => "text/plain")
    when "/moved" then redirect("/json")
    when "/chunked" then chunked_response("one", "two", "three")
    else not_found
    end
  end

  def call
    require "rest-client"
    record("get") do
      response = RestClient.get("#{url}/json", params: { a: 1 })
      [response.body, response.cookies, response.headers.keys]
    end
    record("post") { RestClient.post("#{url}/echo", b: "ä").body }
    record("json") { RestClient.patch("#{url}/echo", { b: 1 }.to_json, content_type: :json).body }
    record("upload") { upload("text") { |file| RestClient.post("#{url}/echo", file: file).code } }
    record("redirect") { RestClient.get("#{url}/moved").body }
    record("file") { RestClient::Request.execute(method: :get, url: "#{url}/chunked", raw_response: true).file.read }
    record("missing") { RestClient.get("#{url}/none") }
  end
end
