# frozen_string_literal: true

require_relative "../openai_responses"

# Responses, streams that are read to their end or left early, an upload, errors.
class OpenaiSDK < SDK
  include OpenaiResponses

  about "openai (official)", gem: "openai", over: "Net::HTTP in a connection_pool", forced: "0.58.0"

  def call
    require "openai"
    @client = OpenAI::Client.new(api_key: "sk", base_url: url, max_retries: 0)
    record("chat") { chat.create(**question).choices.first.message.content }
    record("stream") { chat.stream_raw(**question).map { |chunk| chunk.choices.first.delta.content } }
    record("stream left early") { chat.stream_raw(**question).lazy.first.choices.first.delta.content }
    record("models") { @client.models.list.data.map(&:id) }
    record("upload") { @client.files.create(file: StringIO.new("{\"a\":1}\n"), purpose: "batch").id }
    record("refused") { chat.create(**question, model: "none") }
  end

  private

  def chat = @client.chat.completions
  def question = { model: "gpt", messages: [{ role: "user", content: "hé" }] }
end
