# frozen_string_literal: true

namespace :bulk do
  desc "What happens beside a run, with an origin that is dead for a minute (DEAD=60)"
  task(faults: :compile) do
    sh({ "DEAD" => ENV.fetch("DEAD", "60") }, "bundle", "exec", "ruby", "-W0", "-Itrunkline/lib",
       "-Itrunkline-bulk/lib", "trunkline-bulk/test/test_faults.rb")
  end

  desc "200,000 items by four processes of Sidekiq, killed and with servers restarted; GoodJob, Solid Queue"
  task(fleet: :compile) do
    environment = { "ITEMS" => ENV.fetch("ITEMS", "200000"), "EVERY" => ENV.fetch("EVERY", "5"),
                    "SLICE" => ENV.fetch("SLICE", "500") }
    %w[test_fleet fleet/good_job fleet/solid_queue].each do |name|
      sh environment, "bundle", "exec", "ruby", "-W0", "-Itrunkline/lib", "-Itrunkline-bulk/lib",
         "trunkline-bulk/test/#{name}.rb"
    end
  end
end
