# frozen_string_literal: true

require_relative "../openai_answers"

# Answers, streams that are read to their end and left early, an upload, errors.
class OpenaiSDK < SDK
  include OpenaiAnswers

  about "openai (official)", gem: "openai", over: "Net::HTTP in a connection_pool", forced: "0.58.0"

  def call
    require "openai"
    @client = OpenAI::Client.new(api_key: "sk", base_url: url, max_retries: 0)
    tell("chat") { chat.create(**question).choices.first.message.content }
    tell("stream") { chat.stream_raw(**question).map { |chunk| chunk.choices.first.delta.content } }
    tell("stream left early") { chat.stream_raw(**question).lazy.first.choices.first.delta.content }
    tell("models") { @client.models.list.data.map(&:id) }
    tell("upload") { @client.files.create(file: StringIO.new("{\"a\":1}\n"), purpose: "batch").id }
    tell("refused") { chat.create(**question, model: "none") }
  end

  private

  def chat = @client.chat.completions
  def question = { model: "gpt", messages: [{ role: "user", content: "hé" }] }
end
