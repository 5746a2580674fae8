# frozen_string_literal: true

require_relative "../openai_responses"

# Responses, streams with a Proc, an upload, errors.
class RubyOpenaiSDK < SDK
  include OpenaiResponses

  about "ruby-openai", gem: "ruby-openai", over: "Faraday (net_http)"

  def call
    require "openai"
    client = OpenAI::Client.new(access_token: "sk", uri_base: url)
    messages = [{ role: "user", content: "hé" }]
    record("chat") { client.chat(parameters: { model: "gpt", messages: messages })["choices"] }
    record("stream") do
      [].tap do |deltas|
        stream = ->(chunk, *) { deltas << chunk.dig("choices", 0, "delta", "content") }
        client.chat(parameters: { model: "gpt", messages: messages, stream: stream })
      end
    end
    record("embeddings") { client.embeddings(parameters: { model: "e", input: "x" })["data"] }
    record("upload") { client.files.upload(parameters: { file: StringIO.new(%({"a":1}\n)), purpose: "batch" })["id"] }
    record("refused") { client.chat(parameters: { model: "none", messages: messages }) }
  end
end
