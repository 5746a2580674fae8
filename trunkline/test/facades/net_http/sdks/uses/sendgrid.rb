# frozen_string_literal: true

# JSON by dynamic methods, TLS with the system's certificates.
class SendgridSDK < SDK
  about "SendGrid", gem: "sendgrid-ruby", over: "Net::HTTP", tls: true

  def respond(request)
    case [request.verb, request.target]
    in ["POST", "/v3/mail/send"] then response_bytes("", status: "202 Accepted", "X-Message-Id" => "m1")
    in ["GET", "/v3/templates?generations=dynamic"] then json_response({ templates: [{ id: "d-1" }] })
    in ["PATCH", _] then json_response({ id: 1 })
    in ["DELETE", _] then "HTTP/1.1 204 No Content\r\n\r\n"
    in _ then json_response({ errors: [{ message: "not found" }] }, status: "404 Not Found")
    end
  end

  def call
    require "sendgrid-ruby"
    client = SendGrid::API.new(api_key: "SG.1", host: url).client
    record("send") { shown(client.mail._("send").post(request_body: mail.to_json)) }
    record("templates") { shown(client.templates.get(query_params: { generations: "dynamic" })) }
    record("patch") { shown(client.asm.groups._("1").patch(request_body: { name: "é" })) }
    record("delete") { shown(client.api_keys._("1").delete) }
    record("missing") { shown(client.api_keys._("2").get) }
  end

  private

  def mail
    SendGrid::Mail.new(SendGrid::Email.new(email: "a@b.test"), "Subject", SendGrid::Email.new(email: "c@d.test"),
                       SendGrid::Content.new(type: "text/plain", value: "hé"))
  end

  def shown(response) = [response.status_code, response.body, response.headers["x-message-id"]]
end
