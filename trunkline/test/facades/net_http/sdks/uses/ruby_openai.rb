# frozen_string_literal: true

require_relative "../openai_answers"

# Answers, streams by a Proc, an upload, errors.
class RubyOpenaiSDK < SDK
  include OpenaiAnswers

  about "ruby-openai", gem: "ruby-openai", over: "Faraday (net_http)"

  def call
    require "openai"
    client = OpenAI::Client.new(access_token: "sk", uri_base: url)
    messages = [{ role: "user", content: "hé" }]
    tell("chat") { client.chat(parameters: { model: "gpt", messages: messages })["choices"] }
    tell("stream") do
      [].tap do |deltas|
        stream = ->(chunk, *) { deltas << chunk.dig("choices", 0, "delta", "content") }
        client.chat(parameters: { model: "gpt", messages: messages, stream: stream })
      end
    end
    tell("embeddings") { client.embeddings(parameters: { model: "e", input: "x" })["data"] }
    tell("upload") { client.files.upload(parameters: { file: StringIO.new(%({"a":1}\n)), purpose: "batch" })["id"] }
    tell("refused") { client.chat(parameters: { model: "none", messages: messages }) }
  end
end
