# frozen_string_literal: true

require "fileutils"

module Trunkline
  module Lab
    module Commands
      # All experiments, each small enough that all together take a few minutes; then one page of them.
      class Tour < Command
        summary "all experiments, one after the other, and report.html"
        timed false

        STEPS = {
          "keepalive" => %w[15 5],
          "chatty" => %w[15 2],
          "xml" => %w[3],
          "clients" => %w[100 3],
          "sweep" => %w[short 200 3 -c 1,5,20,60,100,200 --client trunkline,typhoeus,net_http],
          "best" => %w[workers -z 0.3],
          "timeouts" => %w[1],
          "safety" => %w[]
        }.freeze

        private

        def defaults
          @files["html"] = "report.html"
          @results = []
          @steps = STEPS
        end

        def options(parser)
          parser.on("--only LIST", "of #{STEPS.keys.join(", ")}") { |list| @steps = choose(list.split(",")) }
          parser.on("--keep DIR", "keep each experiment's JSON there") { |folder| @folder = folder }
          install_option(parser)
        end

        def choose(names)
          unknown = names - STEPS.keys
          return STEPS.slice(*names) if unknown.empty?

          raise OptionParser::InvalidArgument,
                "no experiment #{unknown.first.inspect}; there are #{STEPS.keys.join(", ")}"
        end

        # Not one result but one for each step.
        attr_reader :results

        def measure
          FileUtils.mkdir_p(@folder) if @folder
          @failed = {}
          @steps.each_with_index { |(name, arguments), number| step(name, arguments, number) || raise(Interrupt) }
        end

        # @return [Boolean] whether to go on
        def step(name, arguments, number)
          told = [*("--quiet" if @quiet), *("--accept-noise" if CLI.command(name).timed)]
          told.push("--json", File.join(@folder, "#{number + 1}-#{name}.json")) if @folder
          @out.flush
          command = CLI.command(name).new(out: @out, err: @err)
          status = command.run(arguments + told)
          @results << command.result.to_h unless command.result.empty?
          status != STOPPED
        rescue Stop, Origins::Missing, PeerProcess::Failed => error
          @failed[name] = error.message
          @err.puts "#{name}: #{error.message}"
          true
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
