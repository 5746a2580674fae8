# frozen_string_literal: true

desc "Run every SDK of gemfiles/sdks with and without install!, keep the results (SDK=stripe: show one)"
task sdks: ["sdks:install", :compile] do
  require "minitest"
  require_relative "../trunkline/test/facades/net_http/sdks/results"

  chosen = SDK.all.select { |sdk| [nil, sdk.file].include?(ENV.fetch("SDK", nil)) }
  results = SDK::Results.measure(chosen) do |sdk, kept|
    puts "== #{sdk.about.title} #{kept["version"]}#{kept["unavailable"]} #{kept["connections"]}"
    kept["differences"]&.each { |mode, found| found.each { |difference| puts "#{mode}: #{difference}" } }
  end
  results.write unless ENV["SDK"]
end

namespace :sdks do
  # The official SDKs of OpenAI and Anthropic require Ruby 3.2, and run on 3.1 when they are installed with --force.
  task :install do
    require_relative "../trunkline/test/facades/net_http/sdks/comparison"
    SeparateBundle.install("sdks", without: nil) or abort "sdks: not all gems could be installed"
    SDK.all.map(&:about).select(&:forced).each do |about|
      folder = SDK::Comparison::FORCED
      next if File.directory?("#{folder}/gems/#{about.gem}-#{about.forced}")

      sh({ "RUBYOPT" => nil, "RUBYLIB" => nil }, "gem", "install", about.gem, "--version", about.forced, "--force",
         "--ignore-dependencies", "--no-document", "--install-dir", folder)
    end
  end
end
