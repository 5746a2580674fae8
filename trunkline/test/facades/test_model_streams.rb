# frozen_string_literal: true

require_relative "../test_helper"
require "net/http"
require "trunkline/faraday"
require "trunkline/net_http"
require "faraday/net_http"
require "anthropic"
require "openai"
require "ruby_llm"

# Libraries for model APIs, unchanged, over the Faraday adapter and over Net::HTTP after install!: in lockstep, so that
# a token that is buffered until the next one leads to a timeout.
class TestModelStreams < TrunklineTest
  TOKENS = %w[Hel lo there].freeze
  TYPE = "Content-Type: text/event-stream\r\n"
  HEAD = "HTTP/1.1 200 OK\r\n#{TYPE}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".freeze
  PATIENCE = 10

  # How each API is called, and the bytes that it sends for a token.
  OPENAI = ->(token) { %(data: {"id":"1","model":"gpt","choices":[{"index":0,"delta":{"content":"#{token}"}}]}\n\n) }
  # The library needs this before the first token, and passes it to the block as well.
  BEGINNING = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{}}}\n\n" \
              "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0," \
              "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
  ANTHROPIC = lambda do |token|
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0," \
      "\"delta\":{\"type\":\"text_delta\",\"text\":\"#{token}\"}}\n\n"
  end
  MESSAGES = [{ role: "user", content: "hi" }].freeze

  LIBRARIES = {
    ruby_openai: [OPENAI, lambda do |url, &seen|
      stream = ->(chunk, *) { seen.call(chunk.dig("choices", 0, "delta", "content")) }
      OpenAI::Client.new(access_token: "sk", uri_base: url, request_timeout: PATIENCE)
        .chat(parameters: { model: "gpt", messages: MESSAGES, stream: stream })
    end],
    anthropic: [ANTHROPIC, lambda do |url, &seen|
      Anthropic.configure { |config| config.uri_base = "#{url}/" } # the client's own setting is ignored
      stream = ->(event) { event.dig("delta", "text")&.then(&seen) }
      Anthropic::Client.new(access_token: "sk", request_timeout: PATIENCE)
        .messages(parameters: { model: "claude", messages: MESSAGES, max_tokens: 9, stream: stream })
    end],
    ruby_llm: [OPENAI, lambda do |url, &seen|
      RubyLLM.configure do |config|
        config.openai_api_key = "sk"
        config.openai_api_base = url
        config.max_retries = 0
        config.request_timeout = PATIENCE
      end
      RubyLLM.chat(model: "gpt", provider: :openai, assume_model_exists: true).ask("hi") do |chunk|
        seen.call(chunk.content) if chunk.content
      end
    end]
  }.freeze

  LIBRARIES.each do |name, (event, ask)|
    { adapter: :over_the_adapter, installed: :installed }.each do |how, around|
      next if name == :ruby_llm && how == :adapter # it always uses Faraday's net_http adapter

      define_method(:"test_#{name}_#{how}") do
        seen = Thread::Queue.new
        server = serve { |connection| in_lockstep(connection, seen, event) }
        reported = []
        send(around) { ask.call(server.url) { |token| seen << reported.push(token) } }
        assert_equal TOKENS, reported.compact.reject(&:empty?)
      end
    end
  end

  private

  def in_lockstep(connection, seen, event)
    connection.read_request
    connection << HEAD
    connection << chunk(BEGINNING) if event == ANTHROPIC
    TOKENS.each do |token|
      connection << chunk(event.call(token))
      return connection.close unless seen_in_time?(seen)
    end
    connection << chunk("data: [DONE]\n\n") if event == OPENAI
    connection << "0\r\n\r\n"
  end

  def seen_in_time?(seen)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 5
    sleep 0.005 while seen.empty? && Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
    !seen.empty? && seen.pop
  end

  def over_the_adapter
    before = Faraday.default_adapter
    Faraday.default_adapter = :trunkline
    yield
  ensure
    Faraday.default_adapter = before
  end

  def installed
    Trunkline::NetHTTP.install!
    yield
  ensure
    Trunkline::NetHTTP.uninstall!
  end
end
