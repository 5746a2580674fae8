# frozen_string_literal: true

# A webhook: a form sent without a started session.
class SlackNotifierSDK < SDK
  about "Slack (slack-notifier)", gem: "slack-notifier", over: "Net::HTTP"

  def respond(request)
    request.target.include?("gone") ? response_bytes("no_service", status: "404 Not Found") : response_bytes("ok")
  end

  def call
    require "slack-notifier"
    notifier = Slack::Notifier.new("#{url}/services/T/B/x", channel: "#c", username: "bot")
    record("ping") { notifier.ping("hé <a> & [link](http://a.test)").map(&:body) }
    record("post") { notifier.post(text: "text", attachments: [{ text: "é" }]).map(&:code) }
    record("gone") { Slack::Notifier.new("#{url}/services/gone").ping("x") }
  end
end
