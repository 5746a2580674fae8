# frozen_string_literal: true

require "tmpdir"
require_relative "../origins/scripted"
require_relative "../facts"
require_relative "../faults"
require_relative "../faults/trial"
require_relative "../safety"

module Trunkline
  module Lab
    module Commands
      # Tests what each client does by default without its user's knowledge, and how its calls to faulty servers end.
      # The results are facts, each with what the servers observed.
      class SafetyCommand < Command
        include Facts

        summary "replays, mixed-up responses, leaked credentials, and calls to servers that break the protocol"
        timed false

        AT_ONCE = 6 # faults: a small number, so that their servers and clients get the CPU when they need it
        FAULTS_NOTE = <<~TEXT.split("\n").join(" ").freeze
          The clients' timeout is #{Faults::Trial::TIMEOUT} s. "answer": the call returned the intended body, or "ok" where it should have
          failed; "as sent": it returned the body without decoding it; "no end": it did not end within #{Faults::Trial::LIMIT} s;
          "crash": the process ended; "-": does not apply.
        TEXT

        HARMS = {
          "did not end" => ->(found) { found[:outcome] == "no end" },
          "ended the process" => ->(found) { found[:outcome] == "crash" },
          "gave the next call a wrong response" => ->(found) { !["good", "error", nil].include?(found[:after]) }
        }.freeze

        def self.name = "safety"

        private

        def defaults
          @seen = {}
          @faults = {}
          @with_faults = true
        end

        def options(parser)
          peer_choice(parser)
          parser.on("--[no-]faults", "servers that break the protocol, too: takes some minutes (yes)") do |yes|
            @with_faults = yes
          end
        end

        def title = "What each client does by default"

        def measure
          @seen = facts(Safety::TESTS.keys) { |preloaded, test| Safety.new(preloaded).run(test) }
          try_faults if @with_faults && !@result.interrupted
        end

        def try_faults
          identities = Faults::Identities.new
          Dir.mktmpdir("trunkline-lab-") do |folder|
            authority = File.join(folder, "authority.pem")
            File.write(authority, identities.authority)
            run_trial = lambda do |preloaded, fault|
              Faults::Trial.new(preloaded, identities, authority).run(fault)
            end
            @faults = facts(Faults::ALL, at_once: AT_ONCE, exclusive: :flood?.to_proc, &run_trial)
          end
        end

        def conclude
          conclude_behaviour if @seen.any?
          conclude_faults if @faults.any?
        end

        def conclude_behaviour
          rows = @seen.map { |label, seen| [label, *Safety::TESTS.keys.map { |test| seen[test][:told] }] }
          @result.table(nil, ["client", *Safety::TESTS.values], rows, note: Safety::NOTE)
          evidence = @seen.map { |label, seen| [label, *seen.values.map { |told| told[:evidence] }] }
          @result.table("What the servers observed", ["client", *Safety::TESTS.values], evidence, optional: Safety::TESTS.values)
          say
        end

        def say
          found = @seen.transform_values { |seen| seen.reject { |_, told| told[:safe] }.keys }
          safe, others = found.partition { |_, tests| tests.empty? }
          @result.say("Replayed, mixed up or leaked nothing: #{safe.map(&:first).join(", ")}.") if safe.any?
          others.each { |label, tests| @result.say("#{label}: #{Safety::TESTS.values_at(*tests).join("; ")}.") }
        end

        # Makes a table for each group, with a row for each fault and a column for each client.
        def conclude_faults
          note = FAULTS_NOTE
          Faults::ALL.group_by(&:group).each do |group, faults|
            rows = faults.map { |fault| [fault.does, *@faults.each_value.map { |seen| seen[fault][:told] }] }
            @result.table(group, ["the server sends", *@faults.keys], rows, note: note)
            note = nil
          end
          @result.data[:faults] = { timeout: Faults::Trial::TIMEOUT, limit: Faults::Trial::LIMIT,
                                    clients: @faults.transform_values { |seen| seen.transform_keys(&:name) } }
          @faults.each { |label, seen| say_harm(label, seen) }
        end

        # Counts outcomes that are harmful under any policy about lenient parsing.
        def say_harm(label, seen)
          found = seen.each_value.reject { |one| one[:outcome] == "not tried" }
          harms = HARMS.filter_map do |what, done|
            count = found.count(&done)
            "#{count} #{what}" if count.positive?
          end
          harms << "each call ended, and none got the response to another call" if harms.empty?
          @result.say("#{label}, of #{found.size} faults: #{harms.join(", ")}.")
        end
      end
    end
  end
end
