# frozen_string_literal: true

require "semian"
require "semian/net_http"

Semian.logger = Logger.new(File::NULL)
Semian::NetHTTP.semian_configuration = lambda do |host, port|
  { name: "#{host}_#{port}", tickets: 2, timeout: 0.1, success_threshold: 1, error_threshold: 2, error_timeout: 30,
    open_circuit_server_errors: true }
end

# Records the events that Semian reports, and the final states of its circuit breakers and tickets.
module Watched
  def self.watch
    events = []
    name = Semian.subscribe do |event, resource, scope, adapter, payload|
      events << [event, resource.name, scope, adapter, payload.is_a?(Hash) ? payload[:state] : nil]
    end
    yield
    { events: events, resources: Semian.resources.values.map { |resource| state(resource) } }
  ensure
    Semian.unsubscribe(name)
    Semian.destroy_all_resources # otherwise the system keeps their semaphores
  end

  def self.state(resource)
    breaker = resource.circuit_breaker
    [resource.name, breaker.state.value, breaker.last_error&.class&.name, resource.count, resource.tickets]
  end
end
