# frozen_string_literal: true

# How each library for model APIs requests a stream: `ask` takes the URL of the service, and a block that is called with
# the text of each token.
module ModelLibraries
  Library = Struct.new(:gem, :faraday, :ask, keyword_init: true) do
    # The ways to run the library: without Trunkline, for comparison; over Net::HTTP after install!; over the Faraday
    # adapter.
    def modes = ["plain", "installed", *("adapter" if faraday)]
  end

  MESSAGES = [{ role: "user", content: "hi" }].freeze

  OPENAI = lambda do |url|
    require "openai"
    OpenAI::Client.new(api_key: "sk", base_url: url)
  end
  ANTHROPIC = lambda do |url|
    require "anthropic"
    Anthropic::Client.new(api_key: "sk", base_url: url)
  end
  RUBY_LLM = lambda do |provider, url, &token|
    require "ruby_llm"
    RubyLLM.configure do |config|
      config.public_send("#{provider}_api_key=", "sk")
      config.public_send("#{provider}_api_base=", url)
      config.max_retries = 0
    end
    chat = RubyLLM.chat(model: "m", provider: provider, assume_model_exists: true)
    chat.ask("hi") { |chunk| token.call(chunk.content) }
  end

  ALL = {
    "openai, chat" => Library.new(gem: "openai", ask: lambda do |url, &token|
      stream = OPENAI.call(url).chat.completions.stream_raw(model: "m", messages: MESSAGES)
      stream.each { |chunk| token.call(chunk.choices.first&.delta&.content) }
    end),
    "openai, responses" => Library.new(gem: "openai", ask: lambda do |url, &token|
      stream = OPENAI.call(url).responses.stream(model: "m", input: "hi")
      stream.each { |event| token.call(event.delta) if event.type == :"response.output_text.delta" }
    end),
    "anthropic, text" => Library.new(gem: "anthropic", ask: lambda do |url, &token|
      ANTHROPIC.call(url).messages.stream(model: "m", max_tokens: 9, messages: MESSAGES).text.each(&token)
    end),
    "anthropic, events" => Library.new(gem: "anthropic", ask: lambda do |url, &token|
      stream = ANTHROPIC.call(url).messages.stream_raw(model: "m", max_tokens: 9, messages: MESSAGES)
      stream.each { |event| token.call(event.delta.text) if event.type == :content_block_delta }
    end),
    "ruby-openai" => Library.new(gem: "ruby-openai", faraday: true, ask: lambda do |url, &token|
      require "openai"
      stream = ->(chunk, *) { token.call(chunk.dig("choices", 0, "delta", "content")) }
      OpenAI::Client.new(access_token: "sk", uri_base: url)
        .chat(parameters: { model: "m", messages: MESSAGES, stream: stream })
    end),
    "ruby_llm, OpenAI" => Library.new(gem: "ruby_llm", faraday: true,
                                      ask: ->(url, &token) { RUBY_LLM.call(:openai, url, &token) }),
    "ruby_llm, Anthropic" => Library.new(gem: "ruby_llm", faraday: true,
                                         ask: ->(url, &token) { RUBY_LLM.call(:anthropic, url, &token) })
  }.freeze
end
