# frozen_string_literal: true

require_relative "../origins/scripted"
require_relative "../facts"
require_relative "../safety"

module Trunkline
  module Lab
    module Commands
      # What each client does behind its user's back, by its defaults: facts, each with what the servers saw.
      class SafetyCommand < Command
        include Facts

        summary "replays, answers mixed up after interrupt, fork and poison, leaked credentials: every client's facts"
        timed false

        def self.name = "safety"

        private

        def defaults = @seen = {}

        def options(parser) = peer_choice(parser)

        def title = "What each client does behind its user's back"

        def measure
          @seen = facts(Safety::TESTS.keys) { |preloaded, test| Safety.new(preloaded).run(test) }
        end

        def conclude
          return if @seen.empty?

          rows = @seen.map { |label, seen| [label, *Safety::TESTS.keys.map { |test| seen[test][:told] }] }
          @result.table(nil, ["client", *Safety::TESTS.values], rows, note: Safety::NOTE)
          evidence = @seen.map { |label, seen| [label, *seen.values.map { |told| told[:evidence] }] }
          @result.table("What was seen", ["client", *Safety::TESTS.values], evidence, optional: Safety::TESTS.values)
          say
        end

        def say
          found = @seen.transform_values { |seen| seen.reject { |_, told| told[:safe] }.keys }
          safe, others = found.partition { |_, tests| tests.empty? }
          @result.say("Nothing replayed, mixed up or leaked: #{safe.map(&:first).join(", ")}.") if safe.any?
          others.each { |label, tests| @result.say("#{label}: #{Safety::TESTS.values_at(*tests).join("; ")}.") }
        end
      end
    end
  end
end
