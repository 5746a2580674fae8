# frozen_string_literal: true

# The suite of trunkline on the engine in Ruby. trunkline/test/engines.yml lists the tests that it leaves out.
namespace :engines do
  environment = { "TRUNKLINE_ENGINE" => "ruby" }

  desc "The Ruby suite of trunkline on the engine in Ruby"
  task test: :compile do
    Suites.run("trunkline", environment)
  end

  fuzz = lambda do |responses, requests, seed|
    { "compare" => responses, "compare_requests" => requests }.each do |script, count|
      ruby "trunkline/test/compare_engines/#{script}.rb", count.to_s, seed.to_s, verbose: false
    end
  end

  desc "Both engines, given the same bytes and the same calls: are their results, and what they send, the same? " \
       "(COUNT of responses, REQUESTS: of clients with calls, SEED)"
  task fuzz: :compile do
    fuzz.call(ENV.fetch("COUNT", 100_000), ENV.fetch("REQUESTS", 20_000), ENV.fetch("SEED", rand(1_000_000)))
  end

  desc "The same with 2,000 responses and 1,000 clients (CI)"
  task("fuzz:quick" => :compile) { fuzz.call(2_000, 1_000, 1) && puts("2 passed, 0 failed") }

  desc "What its lists leave out of the suite, here and on JRuby: is it no more than allowed? (CI)"
  task(left_out: :compile) do
    ruby "-W0", "-Itrunkline/lib", "-Itrunkline/test", "trunkline/test/compare_engines/left_out.rb", verbose: false
  end

  desc "A part of it for each area (CI)"
  task quick: :compile do
    names = %w[client framing truncation early_responses request_bodies streaming each_json pool shared_dials
               fork fibers client_certificates proxies egress websocket negotiation exchanges
               websocket_over_http2]
    Suites.run("trunkline", environment, Suites.named("trunkline", names))
  end
end
