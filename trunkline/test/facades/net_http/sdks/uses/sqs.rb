# frozen_string_literal: true

require "digest"
require "json"

# The JSON protocol, with the checksums that the SDK verifies.
class SqsSDK < SDK
  about "SQS", gem: "aws-sdk-sqs", over: "Net::HTTP", common: true

  def respond(request)
    return response_bytes(request.body) if request.target == "/beside"

    arguments = JSON.parse(request.body)
    case request["x-amz-target"]
    when "AmazonSQS.SendMessage" then said(MessageId: "m1", MD5OfMessageBody: md5(arguments["MessageBody"]))
    when "AmazonSQS.SendMessageBatch"
      said(Successful: arguments["Entries"].map { |entry| sent(entry) }, Failed: [])
    when "AmazonSQS.ReceiveMessage"
      said(Messages: [{ MessageId: "m1", ReceiptHandle: "r", Body: "hé", MD5OfBody: md5("hé") }])
    when "AmazonSQS.DeleteMessage" then said({})
    else said({ __type: "com.amazonaws.sqs#QueueDoesNotExist", message: "no such queue" }, "400 Bad Request")
    end
  end

  def call
    require "aws-sdk-sqs"
    sqs = Aws::SQS::Client.new(endpoint: url, region: "eu-west-1", access_key_id: "a", secret_access_key: "b",
                               retry_limit: 0)
    queue = "#{url}/1/q"
    record("send") { sqs.send_message(queue_url: queue, message_body: "hé").message_id }
    record("batch") do
      entries = %w[a b].map { |id| { id: id, message_body: "body #{id}" } }
      sqs.send_message_batch(queue_url: queue, entries: entries).successful.map(&:id)
    end
    record("receive") { sqs.receive_message(queue_url: queue, wait_time_seconds: 1).messages.map(&:body) }
    record("delete") { sqs.delete_message(queue_url: queue, receipt_handle: "r").to_h }
    record("missing") { sqs.get_queue_url(queue_name: "none") }
    # The SDK's patches of Net::HTTP must not affect other callers.
    record("beside it") { Array.new(2) { Net::HTTP.post_form(URI("#{url}/beside"), "a" => "1").body } }
  end

  private

  def md5(text) = Digest::MD5.hexdigest(text)
  def sent(entry) = { Id: entry["Id"], MessageId: "m", MD5OfMessageBody: md5(entry["MessageBody"]) }

  def said(value, status = "200 OK")
    response_bytes(JSON.generate(value), status: status, "Content-Type" => "application/x-amz-json-1.0",
                                         "x-amzn-RequestId" => "1")
  end
end
