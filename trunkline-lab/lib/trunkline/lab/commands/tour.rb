# frozen_string_literal: true

require "fileutils"
require "tmpdir"

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
          @page = "report.html"
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
        def common(parser)
          parser.on("--html FILE", "where the page goes (report.html)") { |file| @page = file }
          parser.on("--quiet", "the sentences alone") { @quiet = true }
        end

        def measure
          @folder ||= @temporary = Dir.mktmpdir("trunkline-lab-tour-")
          FileUtils.mkdir_p(@folder)
          @failed = {}
          @steps.each_with_index { |(name, arguments), number| step(name, arguments, number) || raise(Interrupt) }
        end

        # @return [Boolean] whether to go on
        def step(name, arguments, number)
          told = ["--json", File.join(@folder, "#{number + 1}-#{name}.json"), *("--quiet" if @quiet)]
          told << "--accept-noise" if CLI.command(name).timed
          @out.flush
          CLI.command(name).new(out: @out, err: @err).run(arguments + told) != STOPPED
        rescue Stop, Origins::Missing, PeerProcess::Failed => error
          @failed[name] = error.message
          @err.puts "#{name}: #{error.message}"
          true
        end

        def conclude
          results = Dir[File.join(@folder, "*.json")].map { |file| Result.read(file) }
          @failed.each { |name, reason| @result.say("#{name} could not be measured: #{reason}.") }
          return if results.empty?

          Output::Files.save(@page, Output::Page.new(results).to_s)
          noisy = results.select { |one| one[:state] == "noisy" }.map { |one| one[:command] }
          @result.say("The machine was too noisy to call these results: #{noisy.join(", ")}.") if noisy.any?
          @result.say("Written: #{@page}, #{results.size} of #{@steps.size} experiments.")
        ensure
          FileUtils.rm_rf(@temporary) if @temporary
        end

        def status
          return STOPPED if @result.interrupted

          @failed.empty? ? DONE : FAILED
        end
      end
    end
  end
end
