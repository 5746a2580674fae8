# frozen_string_literal: true

require "json"

# Responses, streams that are read to their end or left early, errors.
class AnthropicSDK < SDK
  about "anthropic (official)", gem: "anthropic", over: "Net::HTTP in a connection_pool", forced: "1.15.2"

  MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "claude", stop_reason: "end_turn",
              stop_sequence: nil, usage: { input_tokens: 1, output_tokens: 2 } }.freeze

  def respond(request)
    asked = JSON.parse(request.body)
    return overloaded if asked["model"] == "busy"
    return streamed if asked["stream"]

    json_response({ **MESSAGE, content: [{ type: "text", text: "Héllo" }] }, "request-id" => "req_1")
  end

  def call
    require "anthropic"
    @client = Anthropic::Client.new(api_key: "sk", base_url: url, max_retries: 0)
    record("message") { @client.messages.create(**question).content.map(&:text) }
    record("stream") { @client.messages.stream(**question).text.to_a }
    record("stream left early") { @client.messages.stream_raw(**question).lazy.first.type }
    record("overloaded") { @client.messages.create(**question, model: "busy") }
  end

  private

  def question = { model: "claude", max_tokens: 10, messages: [{ role: "user", content: "hé" }] }

  def streamed
    deltas = %w[Hé llo].map do |text|
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: text } }
    end
    all = [{ type: "message_start", message: { **MESSAGE, content: [] } },
           { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, *deltas,
           { type: "content_block_stop", index: 0 },
           { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
           { type: "message_stop" }]
    events(*all.map { |event| "event: #{event[:type]}\ndata: #{JSON.generate(event)}\n\n" })
  end

  def overloaded
    json_response({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
                  status: "529 Overloaded", "request-id" => "req_2")
  end
end
