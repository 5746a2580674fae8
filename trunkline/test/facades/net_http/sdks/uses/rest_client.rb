# frozen_string_literal: true

# Queries, forms, uploads, redirects, raw files, errors.
class RestClientSDK < SDK
  about "RestClient", gem: "rest-client", over: "Net::HTTP"

  def respond(request)
    case request.target
    when %r{\A/json} then json_answer({ target: request.target }, "Set-Cookie" => "a=1; path=/")
    when "/echo" then answer("#{request.verb} #{request.body.bytesize}", "Content-Type" => "text/plain")
    when "/moved" then redirect("/json")
    when "/chunked" then chunked_answer("one", "two", "three")
    else not_found
    end
  end

  def call
    require "rest-client"
    tell("get") do
      response = RestClient.get("#{url}/json", params: { a: 1 })
      [response.body, response.cookies, response.headers.keys]
    end
    tell("post") { RestClient.post("#{url}/echo", b: "ä").body }
    tell("json") { RestClient.patch("#{url}/echo", { b: 1 }.to_json, content_type: :json).body }
    tell("upload") { upload("text") { |file| RestClient.post("#{url}/echo", file: file).code } }
    tell("redirect") { RestClient.get("#{url}/moved").body }
    tell("file") { RestClient::Request.execute(method: :get, url: "#{url}/chunked", raw_response: true).file.read }
    tell("missing") { RestClient.get("#{url}/none") }
  end
end
