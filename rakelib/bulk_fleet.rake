# frozen_string_literal: true

namespace :bulk do
  desc "200,000 items by four processes of Sidekiq, one of them killed every 5 s (ITEMS, EVERY)"
  task(fleet: :compile) do
    environment = { "ITEMS" => ENV.fetch("ITEMS", "200000"), "EVERY" => ENV.fetch("EVERY", "5"),
                    "SLICE" => ENV.fetch("SLICE", "500") }
    sh environment, "bundle", "exec", "ruby", "-W0", "-Itrunkline/lib", "-Itrunkline-bulk/lib",
       "trunkline-bulk/test/test_fleet.rb", "-n", "test_a_worker_is_killed_again_and_again"
  end
end
