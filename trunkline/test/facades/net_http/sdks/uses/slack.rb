# frozen_string_literal: true

# Errors in responses with status 200, pages, a rate limit.
class SlackSDK < SDK
  about "Slack (slack-ruby-client)", gem: "slack-ruby-client", over: "Faraday (net_http)", common: true

  def respond(request)
    case request.target
    when "/api/chat.postMessage" then posted(request)
    when "/api/conversations.list" then channels(request)
    when "/api/files.info" then json_response({ ok: false, error: "ratelimited" }, status: "429 Too Many Requests",
                                                                                   "Retry-After" => "3")
    else json_response({ ok: true, user: "bot" })
    end
  end

  def call
    require "slack-ruby-client"
    slack = Slack::Web::Client.new(token: "xoxb", endpoint: "#{url}/api/")
    record("auth") { slack.auth_test.user }
    record("post") { slack.chat_postMessage(channel: "#general", text: "hé & <all>").ts }
    record("no channel") { slack.chat_postMessage(channel: "none", text: "x") }
    record("pages") do
      [].tap { |names| slack.conversations_list(limit: 1) { |page| names.concat(page.channels.map(&:name)) } }
    end
    record("rate limit") { slack.files_info(file: "F1") }
  end

  private

  def posted(request)
    return json_response({ ok: false, error: "channel_not_found" }) if request.body.include?("none")

    json_response({ ok: true, ts: "1.2" })
  end

  def channels(request)
    last = request.body.include?("cursor=next")
    json_response({ ok: true, channels: [{ name: last ? "two" : "one" }],
                    response_metadata: { next_cursor: last ? "" : "next" } })
  end
end
