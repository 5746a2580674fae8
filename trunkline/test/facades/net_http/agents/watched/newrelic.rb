# frozen_string_literal: true

ENV["NEW_RELIC_LICENSE_KEY"] = "0" * 40
ENV["NEW_RELIC_APP_NAME"] = "test"
ENV["NEW_RELIC_LOG_FILE_PATH"] = "STDOUT"
require "newrelic_rpm"

NewRelic::Agent.manual_start(monitor_mode: false, log_level: "fatal", disable_harvest_thread: true)
# The response of New Relic's service when an agent connects; without it no trace headers are sent.
NewRelic::Agent.config.add_config_for_testing(account_id: "1", primary_application_id: "2", trusted_account_key: "1",
                                              "distributed_tracing.enabled": true)
NewRelic::Agent.agent.define_singleton_method(:connected?) { true }

# Records the segments of a transaction.
module Watched
  def self.watch
    transaction = NewRelic::Agent::Tracer.start_transaction(name: "case", category: :task)
    yield
    transaction.finish
    transaction.segments.map { |segment| said(segment) }
  end

  def self.said(segment)
    said = { name: segment.name, class: segment.class.name, parent: segment.parent&.name,
             error: segment.noticed_error&.exception_class_name }
    return said unless segment.respond_to?(:http_status_code)

    said.merge(status: segment.http_status_code, uri: segment.uri.to_s, library: segment.library,
               procedure: segment.procedure,
               custom: segment.attributes.custom_attributes_for(NewRelic::Agent::AttributeFilter::DST_SPAN_EVENTS))
  end
end
