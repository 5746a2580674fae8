# frozen_string_literal: true

# Tasks of trunkline-bulk, which is Ruby alone.
task test: "bulk:test"

namespace :bulk do
  desc "The suite of trunkline-bulk: runs that are killed, paused and taken over, against 127.0.0.1"
  task(test: :compile) { Suites.run("trunkline-bulk") }

  desc "Simulate a fleet of bulk workers, and write docs/scale.md"
  task :scale do
    require_relative "../trunkline-bulk/scale/page"
    File.write("#{ROOT}/docs/scale.md", ScalePage.text)
  end
end
