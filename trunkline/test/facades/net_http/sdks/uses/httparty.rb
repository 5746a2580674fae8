# frozen_string_literal: true

# Queries, forms, uploads, redirects, streams.
class HttpartySDK < SDK
  about "HTTParty", gem: "httparty", over: "Net::HTTP"

  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def respond(request)
    case request.target
    when %r{\A/json} then json_response({ target: request.target })
    when "/echo" then response_bytes("#{request.verb} #{request.body.bytesize}", "Content-Type" => "text/plain")
    when "/moved" then redirect("/json")
    when "/chunked" then chunked_response("one", "two", "three")
    else not_found
    end
  end

  def call
    require "httparty"
    record("get") { HTTParty.get("#{url}/json", query: { a: "ü" }).parsed_response }
    record("post") { HTTParty.post("#{url}/echo", body: { b: 1 }, headers: { "X-ODD" => "1" }).body }
    record("json") { HTTParty.put("#{url}/echo", body: { b: 1 }.to_json, headers: JSON_TYPE).body }
    record("upload") { upload("text") { |file| HTTParty.post("#{url}/echo", body: { file: file }).code } }
    record("redirect") { HTTParty.get("#{url}/moved").body }
    record("stream") do
      [].tap { |pieces| HTTParty.get("#{url}/chunked", stream_body: true) { |piece| pieces << piece.to_s } }.join
    end
    record("missing") { HTTParty.get("#{url}/none").then { |response| [response.code, response.body] } }
  end
end
