# frozen_string_literal: true

# The suite of trunkline on the engine in Ruby. What it leaves out is in trunkline/test/engines.yml.
namespace :engines do
  environment = { "TRUNKLINE_ENGINE" => "ruby" }

  desc "The Ruby suite of trunkline on the engine in Ruby"
  task test: :compile do
    Suites.run("trunkline", environment)
  end

  desc "A part of it for each area (CI)"
  task quick: :compile do
    names = %w[client framing truncation early_answers request_bodies streaming each_json pool dials_of_others
               fork fibers client_certificates proxies egress websocket]
    Suites.run("trunkline", environment, Suites.named("trunkline", names))
  end
end
