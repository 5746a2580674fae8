# frozen_string_literal: true

# The first comparison: what keeping connections is worth, and how long a timeout of one second lasts, for every client
# that can be had on this machine. bin/demo runs it.

%w[cast stalled_server].each { |part| require_relative "support/#{part}" }
%w[clients kept_connections stalled screen].each { |part| require_relative "demo/#{part}" }

module Bench
  module Demo
    def self.run(experiment, clients, screen)
      clients.each do |peer|
        screen.busy_with("#{experiment.title}: #{peer.label} ...")
        experiment.take(peer)
      rescue PeerProcess::Failed => error
        clients.drop(peer, error.message)
      end
    ensure
      screen.show(experiment) if experiment.rows.any?
    end
  end
end

screen = Bench::Demo::Screen.new
clients = Bench::Demo::Clients.new(screen)
begin
  Bench::Origin.open do |origin|
    Bench::Demo.run(Bench::Demo::KeptConnections.new(origin), clients, screen)
  end
  Bench::StalledServer.open do |server|
    Bench::Demo.run(Bench::Demo::Stalled.new(server), clients, screen)
  end
rescue Bench::Origin::Missing => error
  abort error.message
rescue Interrupt
  interrupted = true
end
screen.name_missing(clients.missing)
abort "Interrupted." if interrupted
