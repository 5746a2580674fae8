# frozen_string_literal: true

require "logger"
require "elastic-apm"

# Records the spans, transactions and errors that would be sent.
module Watched
  @sent = []
  singleton_class.attr_reader :sent
  ElasticAPM::Transport::Base.prepend(Module.new do
    def submit(resource) # rubocop:disable Naming/PredicateMethod -- Elastic APM's name
      Watched.sent << resource
      true
    end
  end)
  ElasticAPM.start(service_name: "test", disable_send: true, central_config: false, metrics_interval: "0s",
                   cloud_provider: "none", transaction_sample_rate: 1.0, log_level: Logger::FATAL,
                   logger: Logger.new(File::NULL), span_compression_enabled: false,
                   disable_instrumentations: [ENV["LEVEL"] == "faraday" ? "net_http" : "faraday"])

  def self.watch(&block)
    sent.clear
    ElasticAPM.with_transaction("case", &block)
    sent.map { |resource| said(resource) }
  end

  def self.said(resource)
    return [resource.class.name, resource.name] unless resource.is_a?(ElasticAPM::Span)

    http = resource.context.http
    [resource.class.name, resource.name, resource.type, resource.subtype, resource.outcome, http&.url.to_s,
     http&.method, http&.status_code, resource.context.destination&.address]
  end
end
