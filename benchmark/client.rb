# frozen_string_literal: true

# Measures the client beside its peers; `rake bench:client` runs it. support/settings.rb has its switches.

%w[suite environment report].each { |part| require_relative "support/#{part}" }
Dir[File.join(__dir__, "figures/*.rb")].each { |figures| require figures }

Bench::Peer.load_all
ours = Bench::Peers::Trunkline
abort "Trunkline is #{ours.missing}" if ours.missing

groups = {
  "plain" => Bench::Figures::OneAtATime.new(:plain),
  "tls" => Bench::Figures::OneAtATime.new(:tls),
  "objects" => Bench::Figures::Objects.new,
  "fresh_tls" => Bench::Figures::FreshTLS.new,
  "threads" => Bench::Figures::Threads.new,
  "download" => Bench::Figures::Download.new,
  "footprint" => Bench::Figures::Footprint.new
}
settings = Bench::Settings.from_environment
unknown = settings.only.to_a - groups.keys
abort "BENCH_ONLY: no figures named #{unknown.join(", ")}; there are #{groups.keys.join(", ")}" if unknown.any?

environment = Bench::Environment.before
begin
  Bench::Origin.open do |origin|
    suite = Bench::Suite.new(origin, settings)
    groups.slice(*(settings.only || groups.keys)).each_value { |group| suite.run(group) }
    environment = Bench::Environment.after(environment, settings: settings, gems: suite.versions)
    report = Bench::Report.new(environment: environment, figures: suite.figures, missing: suite.missing)
    files = report.write(settings.results_folder, "client")
    warn "\nNot measured:", *suite.missing.map { |name, reason| "  #{name}: #{reason}" } if suite.missing.any?
    warn "\nWritten: #{files.join(", ")}"
    if (suite.failures + suite.below_bar).any?
      abort "#{suite.below_bar.size} figures do not hold; #{suite.failures.size} groups could not be measured."
    end
  end
rescue Bench::Origin::Missing => error
  abort error.message
rescue Interrupt
  abort "\nInterrupted; nothing was written."
end
