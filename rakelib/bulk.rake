# frozen_string_literal: true

# Tasks of trunkline-bulk, which has no extension.
task test: "bulk:test"

namespace :bulk do
  desc "The suite of trunkline-bulk: runs that are killed, paused and taken over, against 127.0.0.1"
  task(test: :compile) { Suites.run_side_by_side("trunkline-bulk", 2, Suites::NO_LOCALE) }

  desc "The memory of a run over ten million lines (LINES=10000000; about two minutes)"
  task(memory: :compile) do
    sh({ "LINES" => ENV.fetch("LINES", "10000000") }, "bundle", "exec", "ruby", "-W0", "-Itrunkline/lib",
       "-Itrunkline-bulk/lib", "trunkline-bulk/test/test_memory.rb")
  end

  desc "Simulate a fleet of bulk workers, and write docs/scale.md"
  task :scale do
    require_relative "../trunkline-bulk/scale/page"
    File.write("#{ROOT}/docs/scale.md", ScalePage.text)
  end
end
