# frozen_string_literal: true

desc "Rails applications moved from Faraday, HTTParty and Typhoeus: their specs before and after, and what it gains"
task migrations: ["migrations:install", :compile] do
  require_relative "../trunkline/test/migrations/gain"

  results = Migration::CLIENTS.to_h do |client|
    Migration.of(client) do |application|
      gain = Gain.new(application)
      before = gain.measure
      application.move
      [client, gain.compare(client, before, gain.measure)]
    end
  end
  Gain.write(results)
  abort "specs failed" unless results.values.all? { |result| result["green"] }
end

namespace :migrations do
  task :install do
    require_relative "../trunkline/test/support/separate_bundle"
    SeparateBundle.install("migrations", without: nil) or abort "migrations: not all gems could be installed"
  end
end
