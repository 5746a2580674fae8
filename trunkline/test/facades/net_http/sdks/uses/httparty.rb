# frozen_string_literal: true

# Queries, forms, uploads, redirects, streams.
class HttpartySDK < SDK
  about "HTTParty", gem: "httparty", over: "Net::HTTP"

  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def respond(request)
    case request.target
    when %r{\A/json} then json_answer({ target: request.target })
    when "/echo" then answer("#{request.verb} #{request.body.bytesize}", "Content-Type" => "text/plain")
    when "/moved" then redirect("/json")
    when "/chunked" then chunked_answer("one", "two", "three")
    else not_found
    end
  end

  def call
    require "httparty"
    tell("get") { HTTParty.get("#{url}/json", query: { a: "ü" }).parsed_response }
    tell("post") { HTTParty.post("#{url}/echo", body: { b: 1 }, headers: { "X-ODD" => "1" }).body }
    tell("json") { HTTParty.put("#{url}/echo", body: { b: 1 }.to_json, headers: JSON_TYPE).body }
    tell("upload") { upload("text") { |file| HTTParty.post("#{url}/echo", body: { file: file }).code } }
    tell("redirect") { HTTParty.get("#{url}/moved").body }
    tell("stream") do
      [].tap { |pieces| HTTParty.get("#{url}/chunked", stream_body: true) { |piece| pieces << piece.to_s } }.join
    end
    tell("missing") { HTTParty.get("#{url}/none").then { |response| [response.code, response.body] } }
  end
end
