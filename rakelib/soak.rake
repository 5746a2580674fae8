# frozen_string_literal: true

require_relative "support/command"

SOAK = lambda do |seconds, *results|
  _, status = Command.show(RbConfig.ruby, "-W0", "-Itrunkline/lib", "-Itrunkline/test", "trunkline/test/soak/soak.rb",
                           seconds.to_s, *results, chdir: ROOT)
  abort "the soak failed" unless status.success?
end

desc "Clients side by side for an hour, with restarts and new certificates; kept in benchmark/results (SECONDS=3600)"
task soak: :compile do
  SOAK.call(ENV.fetch("SECONDS", 3600), File.join(ROOT, "benchmark/results/soak.json"))
  Rake::Task["soak:docs"].invoke
end

namespace :soak do
  desc "Five minutes of it, of Trunkline alone (rake matrix)"
  task(short: :compile) { SOAK.call(300) }

  desc "Write the soak's section of docs/safety.md and its chart from benchmark/results/soak.json"
  task :docs do
    require_relative "../trunkline/test/soak/page"
    File.write(SoakPage::CHART, SoakPage.chart)
    Rake::Task["safety:docs"].invoke
  end
end
