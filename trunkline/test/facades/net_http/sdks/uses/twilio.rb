# frozen_string_literal: true

# Forms to Twilio's own host, TLS, lists, an error with Twilio's codes.
class TwilioSDK < SDK
  about "Twilio", gem: "twilio-ruby", over: "Faraday (net_http)", common: true, tls: true

  MESSAGE = { sid: "SM1", status: "queued", body: "hé" }.freeze

  def respond(request)
    case [request.verb, request.target]
    in ["POST", %r{/Messages\.json}]
      return json_response(MESSAGE, status: "201 Created") if request.body.include?("Body=")

      json_response({ code: 21_602, message: "Message body is required.", status: 400 }, status: "400 Bad Request")
    in ["GET", %r{/Messages\.json}]
      json_response({ messages: [MESSAGE, MESSAGE], page: 0, page_size: 50, next_page_uri: nil })
    in ["GET", %r{/Messages/SM1}] then json_response(MESSAGE)
    in ["DELETE", _] then "HTTP/1.1 204 No Content\r\n\r\n"
    in _ then json_response({ code: 20_404, message: "not found", status: 404 }, status: "404 Not Found")
    end
  end

  def call
    require "faraday"
    require "twilio-ruby"
    client = Twilio::REST::Client.new("AC1", "token", nil, nil, http_client)
    record("send") { client.messages.create(from: "+1", to: "+2", body: "hé").sid }
    record("list") { client.messages.list(limit: 5).map(&:body) }
    record("fetch") { client.messages("SM1").fetch.status }
    record("delete") { client.messages("SM1").delete }
    record("no body") { client.messages.create(from: "+1", to: "+2") }
    record("missing") { client.messages("SM2").fetch }
  end

  private

  # Twilio's host is not configurable, so a middleware replaces it by the test server.
  def http_client
    port = uri.port
    elsewhere = Class.new(Faraday::Middleware) do
      define_method(:on_request) { |env| (env.url.host = "localhost") && env.url.port = port }
    end
    Twilio::HTTP::Client.new.tap { |http| http.configure_connection { |faraday| faraday.use(elsewhere) } }
  end
end
