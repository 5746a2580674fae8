# frozen_string_literal: true

require "fileutils"
require_relative "../budget"
require_relative "../repeats"

module Trunkline
  module Lab
    module Commands
      # Runs all experiments, each small enough that together they take a few minutes, and writes one page.
      class Tour < Command
        include Repeats

        summary "all experiments, one after the other, and report.html"
        timed false

        # In the order of the page. The numbers of repetitions are for an otherwise idle machine.
        STEPS = {
          "keepalive" => %w[6 7],
          "chatty" => %w[15 5],
          "xml" => %w[7],
          "clients" => %w[100 5],
          "sweep" => %w[short 200 5 -c 1,5,20,100 --client trunkline,typhoeus,net_http],
          "best" => %w[workers -z 0.2],
          "timeouts" => %w[1],
          "storm" => %w[200 3],
          "tail" => %w[400 5],
          "gvl" => %w[1 3 --busy 0,2,8 --client trunkline,net_http,typhoeus],
          "tokens" => %w[100 3],
          "nplus1" => %w[15 5],
          "safety" => %w[--no-faults]
        }.freeze
        # Usual share of the total time.
        WEIGHTS = { "keepalive" => 2, "chatty" => 2, "xml" => 3, "clients" => 1.5, "sweep" => 3, "best" => 2.5,
                    "timeouts" => 2, "storm" => 2, "tail" => 2, "gvl" => 2, "tokens" => 1.5, "nplus1" => 1,
                    "safety" => 4 }.freeze
        SECONDS = 180.0

        private

        def defaults
          @files["html"] = "report.html"
          @results = []
          @steps = STEPS
          @seconds_for_all = SECONDS
        end

        def options(parser)
          parser.on("--only LIST", "of #{STEPS.keys.join(", ")}") { |list| @steps = choose(list) }
          parser.on("--keep DIR", "keep each experiment's JSON there") { |folder| @folder = folder }
          install_option(parser)
          time_option(parser)
        end

        def choose(list) = STEPS.slice(*names(list, STEPS.keys, "experiment"))

        # One result for each step, instead of a single one.
        attr_reader :results

        def measure
          FileUtils.mkdir_p(@folder) if @folder
          @failed = {}
          @budget = Budget.new(@seconds_for_all, WEIGHTS.slice(*@steps.keys))
          @steps.each_with_index { |(name, arguments), number| step(name, arguments, number) || raise(Interrupt) }
        end

        # @return [Boolean] whether to continue
        def step(name, arguments, number)
          @out.flush
          command = CLI.command(name).new(out: @out, err: @err)
          status = command.run(arguments + command_options(name, number))
          @results << command.result.to_h unless command.result.empty?
          status != STOPPED
        rescue Stop, Origins::Missing, PeerProcess::Failed => error
          @failed[name] = error.message
          @err.puts "#{name}: #{error.message}"
          true
        end

        def command_options(name, number)
          command = CLI.command(name)
          command_options = [*("--quiet" if @quiet), *("--accept-noise" if command.timed)]
          command_options.push("--json", File.join(@folder, "#{number + 1}-#{name}.json")) if @folder
          command_options.push("--within", @budget.share(name).round(1).to_s) if command < Repeats
          command_options
        end

        def conclude
          @failed.each { |name, reason| @result.say("#{name} could not be measured: #{reason}.") }
          noisy = results.select { |one| one[:state] == "noisy" }.map { |one| one[:command] }
          @result.say("The machine was too noisy to call these results: #{noisy.join(", ")}.") if noisy.any?
          @files.clear if results.empty?
          @result.say("#{results.size} of #{@steps.size} experiments.")
        end

        def status
          return STOPPED if @result.interrupted

          @failed.empty? ? DONE : FAILED
        end
      end
    end
  end
end
