# frozen_string_literal: true

# A webhook: a form without a session of its own.
class SlackNotifierSDK < SDK
  about "Slack (slack-notifier)", gem: "slack-notifier", over: "Net::HTTP"

  def respond(request)
    request.target.include?("gone") ? answer("no_service", status: "404 Not Found") : answer("ok")
  end

  def call
    require "slack-notifier"
    notifier = Slack::Notifier.new("#{url}/services/T/B/x", channel: "#c", username: "bot")
    tell("ping") { notifier.ping("hé <a> & [link](http://a.test)").map(&:body) }
    tell("post") { notifier.post(text: "text", attachments: [{ text: "é" }]).map(&:code) }
    tell("gone") { Slack::Notifier.new("#{url}/services/gone").ping("x") }
  end
end
