# frozen_string_literal: true

require_relative "support/command"

CHAOS = lambda do |seconds|
  seed = ENV.fetch("SEED", Random.new_seed % (2**31))
  _, status = Command.show(RbConfig.ruby, "-W0", "-Itrunkline/lib", "-Itrunkline/test", "trunkline/test/chaos/chaos.rb",
                           seconds.to_s, seed.to_s, chdir: ROOT)
  abort "rake chaos SEED=#{seed} makes the same plan again" unless status.success?
end

desc "Callers of all kinds, faults, kills and forks at once (SECONDS=600, SEED=n for the plan of a run before)"
task(chaos: :compile) { CHAOS.call(Float(ENV.fetch("SECONDS", 600))) }

namespace :chaos do
  desc "A minute of chaos (CI)"
  task(quick: :compile) { CHAOS.call(60) }
end
