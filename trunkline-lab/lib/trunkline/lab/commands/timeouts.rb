# frozen_string_literal: true

require_relative "../facts"
require_relative "../origins/scripted"

module Trunkline
  module Lab
    module Commands
      # Clients with a timeout of one second: how long each waits in each phase that can stall, how many attempts it
      # makes, and how the call ends.
      class Timeouts < Command
        include Facts

        summary "with a timeout of 1 s: how long each client waits in each phase that stalls, and how often it tries"
        usage "[SECONDS]"
        timed false

        PHASES = ["connect", "TLS", "first byte", "between bytes"].freeze
        LONGEST = 20 # multiple of the timeout after which the client is considered to hang
        SLACK = 0.5  # seconds that a loaded machine may add

        private

        def defaults
          @timeout = 1.0
          @seen = {}
        end

        def options(parser) = peer_choice(parser)

        def arguments(rest)
          return if rest.empty?

          @timeout = Float(rest.first)
          raise ArgumentError unless rest.size == 1 && @timeout.between?(0.05, 60)
        rescue ArgumentError
          raise Stop.new("#{rest.join(" ").inspect}: give one number of seconds, from 0.05 to 60", USAGE)
        end

        def title
          "A server that stalls, and clients with a timeout of #{format("%g", @timeout)} s; one GET for each phase"
        end

        def measure
          @seen = facts(PHASES) { |preloaded, phase| stall(phase, preloaded) }
        end

        def stall(phase, preloaded)
          case phase
          when "connect" then Origins::FullQueue.open { |base| outcome(preloaded, base, nil) }
          when "TLS" then scripted(preloaded, :tls) { |connection, count| count.call && connection.stall }
          when "first byte" then scripted(preloaded, :plain) { |connection, count| count.call while connection.request }
          else
            scripted(preloaded, :plain) do |connection, count|
              while connection.request
                count.call
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst")
              end
            end
          end
        end

        def scripted(preloaded, scheme)
          attempts = 0
          script = ->(connection) { yield connection, -> { attempts += 1 } }
          Origins::Scripted.open(script) do |server|
            outcome(preloaded, server.public_send(scheme), -> { attempts })
          end
        end

        def outcome(preloaded, base, attempts)
          preloaded.process(base: base, timeout: @timeout, insecure: base.start_with?("https")) do |process|
            taken = process.ask(:outcome, call: { path: "/" }, limit: (@timeout * LONGEST) + 10)
            { seconds: taken[:wall], attempts: attempts&.call, error: taken[:ended_with] }
          end
        rescue PeerProcess::Failed => error
          { seconds: nil, attempts: attempts&.call, error: error.message }
        end

        def conclude
          return if @seen.empty?

          columns = PHASES.flat_map { |phase| phase == "connect" ? [phase] : [phase, "#{phase}: attempts"] }
          rows = @seen.map { |label, phases| [label, *PHASES.flat_map { |phase| cells(phase, phases[phase]) }] }
          @result.table(nil, ["client", *columns], rows,
                        note: "Seconds until the call ended; attempts that the server received.")
          errors = @seen.map { |label, phases| [label, *PHASES.map { |phase| phases[phase][:error] }] }
          @result.table("How each call ended", ["client", *PHASES], errors)
          @result.data.merge!(asked: @timeout, clients: @seen)
          @seen.each { |label, phases| figures(label, phases) }
          say
        end

        def cells(phase, result)
          seconds = result[:seconds] ? format("%.2f", result[:seconds]) : "hung"
          phase == "connect" ? [seconds] : [seconds, result[:attempts]]
        end

        def figures(label, phases)
          phases.each do |phase, result|
            next unless result[:seconds]

            @result.figure([result[:seconds]], name: "#{label}: #{phase}", group: phase, label: label, unit: "s",
                                               better: "lower")
          end
        end

        def say
          exact, others = @seen.partition { |_, phases| phases.each_value.all? { |result| exact?(result) } }
          sentence = "One attempt that ends within #{SLACK} s of the timeout, in all phases"
          @result.say("#{sentence}: #{exact.map(&:first).join(", ")}.") if exact.any?
          @result.say("Otherwise: #{others.map(&:first).join(", ")}.") if others.any?
        end

        def exact?(result)
          result[:seconds] && (result[:seconds] - @timeout).abs <= SLACK && [nil, 1].include?(result[:attempts])
        end
      end
    end
  end
end
