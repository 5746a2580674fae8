# frozen_string_literal: true

require_relative "support/mutants"

MUTANTS = lambda do |mutants, rules|
  if mutants.unmatched.any?
    abort "not in both trunkline/test/guards.yml and the sources: #{mutants.unmatched.join(", ")}"
  end
  broken = mutants.broken(rules)
  abort "fails with every rule in place: #{broken.join(", ")}" if broken.any?
  survivors = mutants.survivors(mutants.build(rules))
  survivors.each { |rule| puts "#{rule.name}: #{rule.test} (#{rule.file}) passes without it" }
  puts "#{rules.size - survivors.size} passed, #{survivors.size} failed"
  abort "tests do not see that a safety rule is missing" if survivors.any?
end

desc "Without each safety rule of the engine in turn: do the tests notice? (RULES=NAME,NAME for some; minutes)"
task mutants: :compile do
  mutants = Mutants.new
  named = ENV["RULES"]&.split(",")
  unknown = named.to_a - mutants.rules.map(&:name)
  abort "no rules #{unknown.join(", ")} in trunkline/test/guards.yml" if unknown.any?
  MUTANTS.call(mutants, named ? mutants.rules.select { |rule| named.include?(rule.name) } : mutants.rules)
end

namespace :mutants do
  desc "As mutants, for the most important rules (CI)"
  task quick: :compile do
    mutants = Mutants.new
    MUTANTS.call(mutants, mutants.rules.select(&:important))
  end
end
