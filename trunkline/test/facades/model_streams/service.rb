# frozen_string_literal: true

require "json"
require_relative "../../support/scripted_server"

# A service with the APIs of OpenAI (chat and responses) and Anthropic. The text of each token is the time at which it
# was sent, by a clock that all processes of a machine share.
module ModelService
  TOKENS = 10
  PACE = 0.1 # seconds: a token that is buffered until the next one exceeds the limit
  HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

  MESSAGE = { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: nil,
              stop_sequence: nil, usage: { input_tokens: 1, output_tokens: 1 } }.freeze
  RESPONSE = { id: "r", object: "response", model: "m", output: [] }.freeze

  # Events before the tokens, for each token, and after them; a Hash is an event with the name of its type.
  SPOKEN = {
    "/chat/completions" => [
      [], ->(text) { { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice(text)] } },
      ["[DONE]"]
    ],
    "/responses" => [
      [{ type: "response.created", sequence_number: 0, response: { **RESPONSE, status: "in_progress" } }],
      lambda do |text|
        { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, sequence_number: 1,
          delta: text, logprobs: [] }
      end,
      [{ type: "response.completed", sequence_number: 2, response: { **RESPONSE, status: "completed" } }]
    ],
    "/messages" => [
      [{ type: "message_start", message: MESSAGE },
       { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }],
      ->(text) { { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: text } } },
      [{ type: "content_block_stop", index: 0 },
       { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
       { type: "message_stop" }]
    ]
  }.freeze

  module_function

  # @yield [url] while the service runs
  def run
    server = ScriptedServer.new { |connection| talk(connection) }
    yield server.url("")
  ensure
    server&.stop
  end

  def talk(connection)
    while (request = connection.read_request)
      before, token, after = SPOKEN.find { |path, _| request.target.end_with?(path) }&.last
      connection << HEAD
      before.each { |event| send_event(connection, event) }
      TOKENS.times do
        sleep PACE
        send_event(connection, token.call(format("%.6f ", Process.clock_gettime(Process::CLOCK_MONOTONIC))))
      end
      sleep PACE
      after.each { |event| send_event(connection, event) }
      connection << "0\r\n\r\n"
    end
  end

  def choice(text) = { index: 0, delta: { role: "assistant", content: text }, finish_reason: nil }

  def send_event(connection, event)
    name = "event: #{event[:type]}\n" if event.is_a?(Hash) && event.key?(:type)
    text = "#{name}data: #{event.is_a?(Hash) ? JSON.generate(event) : event}\n\n"
    connection << "#{text.bytesize.to_s(16)}\r\n#{text}\r\n"
  end
end
