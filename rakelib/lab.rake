# frozen_string_literal: true

# Tasks of trunkline-lab, which has no extension; `compile` builds the extensions that it measures.
task test: "lab:test"

namespace :lab do
  desc "The suite of trunkline-lab: tiny runs against 127.0.0.1, without a claim about speed"
  task(test: :compile) { Suites.run_side_by_side("trunkline-lab", 2, Suites::NO_LOCALE) }

  desc "Run trunkline-lab from the checkout (LAB=\"sweep short\")"
  task(run: :compile) { sh RbConfig.ruby, "trunkline-lab/exe/trunkline-lab", *ENV.fetch("LAB", "--help").split }
end
