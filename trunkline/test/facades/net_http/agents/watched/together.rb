# frozen_string_literal: true

# Several agents in one process, as in applications.
watched = %w[opentelemetry semian datadog sentry].to_h do |agent|
  require_relative agent
  [agent, Object.send(:remove_const, :Watched)]
end

# Collects the records of each agent.
Watched = Struct.new(:agents) do
  def watch(&block)
    seen = {}
    agents.reduce(block) { |calls, (name, agent)| proc { seen[name] = agent.watch(&calls) } }.call
    seen
  end
end.new(watched)
