# frozen_string_literal: true

desc "Run the agents of gemfiles/agents beside install! and our adapter, write the tables (AGENT=semian: show one)"
task agents: ["agents:install", :compile] do
  chosen = Agents::Comparison::AGENTS.select { |agent| [nil, agent.file].include?(ENV.fetch("AGENT", nil)) }
  results = Agents::Results.measure(chosen) do |agent, kept|
    puts "== #{agent.title} (#{agent.level}) #{kept["version"]}#{kept["unavailable"]}"
    kept["differences"]&.each { |order, cases| cases.each { |name, found| puts "#{order} #{name}:", found } }
  end
  results.write unless ENV["AGENT"]
end

namespace :agents do
  task :install do
    require "minitest"
    require_relative "../trunkline/test/facades/net_http/agents/results"

    SeparateBundle.install("agents", without: nil) or abort "agents: not all gems could be installed"
  end
end
