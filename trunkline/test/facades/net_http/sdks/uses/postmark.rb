# frozen_string_literal: true

# The client has one Net::HTTP object, which its first call starts.
class PostmarkSDK < SDK
  about "Postmark", gem: "postmark", over: "Net::HTTP"

  SENT = { "ErrorCode" => 0, "Message" => "OK", "MessageID" => "m1", "To" => "c@d.test" }.freeze

  def respond(request)
    case [request.verb, request.target[/\A[^?]*/]]
    in ["POST", "/email"] then request.body.include?("bad") ? refused : json_response(SENT)
    in ["POST", "/email/batch"] then json_response([SENT, SENT])
    in ["GET", "/messages/outbound"] then json_response({ TotalCount: 1, Messages: [{ MessageID: "m1" }] })
    in _ then not_found({ ErrorCode: 1, Message: "not found" })
    end
  end

  def call
    require "postmark"
    client = Postmark::ApiClient.new("token", host: uri.host, port: uri.port, secure: false, max_retries: 0)
    message = { from: "a@b.test", to: "c@d.test", subject: "hé", text_body: "text" }
    record("deliver") { client.deliver(message)[:message_id] }
    record("batch") { client.deliver_in_batches([message, message]).map { |sent| sent[:message_id] } }
    record("messages") { client.get_messages(count: 1).map { |found| found[:message_id] } }
    record("refused") { client.deliver(message.merge(to: "bad")) }
    record("missing") { client.get_message("2") }
  end

  private

  def refused = json_response({ ErrorCode: 300, Message: "Invalid 'To' address" }, status: "422 Unprocessable Entity")
end
