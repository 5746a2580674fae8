# frozen_string_literal: true

require "optparse"
require_relative "../bulk"
require_relative "results"

module Trunkline
  class Bulk
    # The command line: a file of URLs to a file of results, and how far a run is.
    class Command
      USAGE = <<~TEXT
        usage: trunkline-bulk run URLS --out RESULTS [options]
               trunkline-bulk status|pause|resume|cancel|retry-failed RESULTS
        URLS: a file with a URL in each line, the column "url" of a .csv, or the member "url" of each line of a .jsonl
        RESULTS: .jsonl, .jsonl.gz, .jsonl.zst, .sqlite or .parquet; its run is in RESULTS.state
      TEXT
      # Exit statuses.
      DONE = 0
      FAILED = 1
      WRONG = 2
      STOPPED = 3

      # @param argv [Array<String>]
      # @return [Integer] 0: all items are done; 1: some have failed; 2: the arguments are wrong; 3: paused or cancelled
      def self.run(argv, out: $stdout, err: $stderr) = new(out, err).run(argv)

      def initialize(out, err)
        @out = out
        @err = err
        @fields = Results::FIELDS
        @settings = {}
        @progress = nil
      end

      # @param argv [Array<String>]
      # @return [Integer]
      def run(argv)
        name, file, *rest = parser.parse(argv)
        case name
        when "run" then start(file, rest)
        when "status", "pause", "resume", "cancel", "retry-failed" then change(name, file)
        else raise OptionParser::ParseError, name ? "unknown command #{name}" : "a command is needed"
        end
      rescue OptionParser::ParseError, InvalidRequest, UnknownRun, InvalidItem, Results::Unavailable,
             SystemCallError => error
        @err.puts "trunkline-bulk: #{error.message}", USAGE
        WRONG
      rescue Interrupt
        @err.puts "stopped; the same command with --resume goes on"
        130
      end

      private

      def parser
        OptionParser.new(USAGE) do |options|
          options.on("--out FILE", "where results go") { |file| @file = file }
          options.on("--resume", "go on with the run that is there") { @resume = true }
          options.on("--concurrency N", "requests in flight to each origin: auto, or a number") do |value|
            @settings[:concurrency] = value == "auto" ? :auto : Integer(value, 10, exception: false) || value
          end
          options.on("--per-origin N", Float, "requests a second to each origin") do |value|
            @settings[:per_origin] = value
          end
          options.on("--timeout SECONDS", Float, "of each request (30)") { |value| @settings[:timeout] = value }
          options.on("--retry", "retries what is safe to retry") { @settings[:retry] = true }
          options.on("--slice N", Integer, "items of a slice (1000)") { |value| @settings[:slice] = value }
          options.on("--fields A,B", Array, "of #{Results::FIELDS.join(",")},body,headers") { |value| @fields = value }
          options.on("--bodies FOLDER", "write each body to a file there") { |folder| @bodies = folder }
          options.on("--[no-]progress", "show how far it is (when there is a terminal)") { |value| @progress = value }
          options.on("--version") { raise OptionParser::ParseError, "trunkline-bulk #{VERSION}" }
        end
      end

      def start(urls, rest)
        raise OptionParser::ParseError, "run: needs one file of URLs" if urls.nil? || rest.any?
        raise OptionParser::ParseError, "run: needs --out" if @file.nil?
        raise OptionParser::ParseError, "#{urls}: cannot be read" unless File.readable?(urls)

        refuse_another_run
        writer = Results.open(@file, fields: @fields, bodies: @bodies)
        bulk = define(urls, writer)
        finish(bulk.start(run_name, state: state, progress: @progress))
      ensure
        writer&.close
      end

      # Results of another run are not written over.
      def refuse_another_run
        return if @resume || !(File.exist?(@file) || File.exist?(state))

        raise OptionParser::ParseError, "#{@file} is there already: --resume goes on with it"
      end

      def define(urls, writer)
        settings = @settings
        Class.new(Bulk) do
          define_singleton_method(:name) { "trunkline-bulk" }
          source { Pathname.new(urls) }
          request { |item| item.is_a?(Hash) ? item.fetch("url") : item }
          options(**settings) unless settings.empty?
          result { |item, result, key| writer.add(item, result, key) }
          flush { writer.flush }
        end
      end

      def change(name, file)
        raise OptionParser::ParseError, "#{name}: needs the file of results" if file.nil?

        @file = file
        raise OptionParser::ParseError, "#{file}: there is no run of that name" unless File.exist?(state)

        bulk = Class.new(Bulk) { define_singleton_method(:name) { "trunkline-bulk" } }
        @out.puts bulk.public_send(name.tr("-", "_"), run_name, state: state)
        DONE
      end

      def finish(status)
        @out.puts status
        return STOPPED unless status.state == :done

        status.failed.zero? ? DONE : FAILED
      end

      def state = "#{@file}.state"

      def run_name = "run"
    end
  end
end
