# frozen_string_literal: true

require_relative "../openai_responses"

# Chats, and streams with a block.
class RubyLLMSDK < SDK
  include OpenaiResponses

  about "ruby_llm", gem: "ruby_llm", over: "Faraday (net_http)"

  def call
    require "ruby_llm"
    RubyLLM.configure do |config|
      config.openai_api_key = "sk"
      config.openai_api_base = url
      config.max_retries = 0
    end
    record("ask") { chat.ask("hé").content }
    record("stream") { [].tap { |pieces| chat.ask("hé") { |chunk| pieces << chunk.content } } }
    record("refused") { chat("none").ask("hé") }
  end

  private

  def chat(model = "gpt") = RubyLLM.chat(model: model, provider: :openai, assume_model_exists: true)
end
