# frozen_string_literal: true

require "json"

# The responses of OpenAI's service, for its three SDKs.
module OpenaiResponses
  def respond(request)
    case request.target[%r{/(chat/completions|embeddings|files|models)}, 1]
    when "chat/completions" then completed(JSON.parse(request.body))
    when "embeddings"
      json_response({ object: "list", model: "e", data: [{ object: "embedding", index: 0, embedding: [0.1, -0.2] }],
                      usage: { prompt_tokens: 1, total_tokens: 1 } })
    when "files" then json_response({ id: "file-1", object: "file", bytes: 8, filename: "x", purpose: "batch" })
    else json_response({ object: "list", data: [{ id: "gpt", object: "model" }] })
    end
  end

  private

  def completed(asked)
    return refused if asked["model"] == "none"
    return streamed if asked["stream"]

    message = { role: "assistant", content: "Héllo" }
    choices = [{ index: 0, message: message, finish_reason: "stop" }]
    usage = { prompt_tokens: 1, completion_tokens: 2 }
    json_response(completion.merge(object: "chat.completion", choices: choices, usage: usage), "x-request-id" => "r1")
  end

  def streamed = events(*%w[Hé llo !].map { |text| event(delta: { content: text }) }, "data: [DONE]\n\n")

  def completion = { id: "c1", created: 1, model: "gpt" }

  def event(choice)
    "data: #{JSON.generate({ **completion, object: "chat.completion.chunk", choices: [{ index: 0, **choice }] })}\n\n"
  end

  def refused
    json_response({ error: { message: "no such model", type: "invalid_request_error", code: "model_not_found" } },
                  status: "404 Not Found")
  end
end
