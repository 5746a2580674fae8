# frozen_string_literal: true

require "optparse"
require "pathname"
require "sqlite3"
require_relative "../bulk"
require_relative "results"

module Trunkline
  class Bulk
    # The command line: requests the URLs of a file, writes a file of results, and shows and controls the run.
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
      BROKEN = 4
      # Errors that may end a run: a full disk, a malformed line of a CSV.
      ERRORS = [SystemCallError, IOError, SQLite3::Exception, InvalidItem, EncodingError].freeze
      # Raised for wrong arguments.
      UsageError = Class.new(StandardError)
      private_constant :ERRORS, :UsageError

      # @param argv [Array<String>]
      # @return [Integer] 0: all items are done; 1: some have failed; 2: the arguments are wrong; 3: the run was paused
      #   or cancelled; 4: the run has ended with an error
      def self.run(argv, out: $stdout, err: $stderr) = new(out, err).run(argv)

      # @return [Results::Rows]
      # @api private
      attr_reader :writer

      def initialize(out, err)
        @out = out
        @err = err
        @fields = Results::FIELDS
        @settings = {}
        @progress = @writer = nil
      end

      # @param argv [Array<String>]
      # @return [Integer]
      def run(argv)
        name, file, *rest = parser.parse(argv)
        return print_info(@info) if @info

        case name
        when "run" then start(file, rest)
        when "status", "pause", "resume", "cancel", "retry-failed" then change(name, file, rest)
        else raise UsageError, name ? "unknown command #{name}" : "a command is needed"
        end
      rescue OptionParser::ParseError, InvalidRequest, UnknownRun, Results::Unavailable, UsageError => error
        @err.puts "trunkline-bulk: #{error.message}", USAGE
        WRONG
      rescue *ERRORS => error
        @err.puts "trunkline-bulk: #{error.message} (#{error.class})"
        @err.puts "What was done is kept: run with --resume goes on." if @began
        BROKEN
      rescue Interrupt
        @err.puts @began ? "stopped; the same command with --resume goes on" : "stopped"
        130
      end

      private

      def print_info(text)
        @out.puts text
        DONE
      end

      def parser
        OptionParser.new(USAGE) do |options|
          options.on("--out FILE", "where results go") { |file| @file = file }
          options.on("--resume", "go on with the run that is there") { @resume = true }
          add_settings(options)
          options.on("--fields A,B", Array, "of #{[*Results::FIELDS, *Results::MORE].join(",")}") do |names|
            @fields = names
          end
          options.on("--bodies FOLDER", "write each body to a file there") { |folder| @bodies = folder }
          options.on("--[no-]progress", "show how far it is (when there is a terminal)") { |value| @progress = value }
          options.on("--version", "tell which version this is") { @info = "trunkline-bulk #{VERSION}" }
          options.on("-h", "--help", "show this") { @info = options.help }
        end
      end

      def add_settings(options)
        options.on("--concurrency N", "requests in flight to each origin: auto, or a number") do |value|
          @settings[:concurrency] = value == "auto" ? :auto : Integer(value, 10, exception: false) || value
        end
        options.on("--retry", "retries what is safe to retry") { @settings[:retry] = true }
        { per_origin: [Float, "N", "requests a second to each origin"],
          timeout: [Float, "SECONDS", "of each request (30)"],
          hold: [Float, "SECONDS", "for which an origin that cannot be reached is waited for (300)"],
          slice: [Integer, "N", "items of a slice (1000)"] }.each do |name, (type, value, text)|
          options.on("--#{name.name.tr("_", "-")} #{value}", type, text) { |argument| @settings[name] = argument }
        end
      end

      def start(urls, rest)
        raise UsageError, "run: needs one file of URLs" if urls.nil? || rest.any?
        raise UsageError, "run: needs --out" if @file.nil?

        check_urls(urls)
        refuse_another_run
        bulk = define(urls)
        @writer = Results.open(@file, fields: @fields, bodies: @bodies)
        @began = true
        finish(bulk.start(run_name, state: state, progress: @progress))
      ensure
        @writer&.close
      end

      def check_urls(path)
        raise UsageError, "#{path}: cannot be read" unless File.file?(path) && File.readable?(path)
        return unless File.extname(path).casecmp?(".csv")

        names = Source::Rows.new(path).names
        return if names.nil? || names.include?("url")

        raise UsageError, "#{path}: has no column \"url\", but #{names.map(&:inspect).join(", ")}"
      end

      # Results of another run are not overwritten, nor are other files.
      def refuse_another_run
        exists = File.exist?(state)
        raise UsageError, "#{@file} is there already: --resume goes on with it" if exists && !@resume
        return if exists || !File.exist?(@file) || (File.file?(@file) && File.empty?(@file))

        raise UsageError, "#{@file} is there already, and its run, #{state}, is not: name another file"
      end

      def define(urls)
        settings = @settings
        command = self
        Class.new(Bulk) do
          define_singleton_method(:name) { "trunkline-bulk" }
          source { Pathname.new(urls) }
          request { |item| item.is_a?(Hash) ? item["url"].to_s : item }
          options(**settings) unless settings.empty?
          result { |item, result, key| command.writer.add(item, result, key) }
          define(:refused, ->(item, error, key) { command.writer.refuse(item, error, key) })
          flush { command.writer.flush }
        end
      end

      def change(name, file, rest)
        raise UsageError, "#{name}: needs the file of results, and nothing else" if file.nil? || rest.any?

        @file = file
        raise UsageError, "#{file}: there is no run of that name" unless File.exist?(state)

        bulk = Class.new(Bulk) { define_singleton_method(:name) { "trunkline-bulk" } }
        status = bulk.public_send(name.tr("-", "_"), run_name, state: state)
        @out.puts status
        resumable = %w[resume retry-failed].include?(name) && status.state == :running
        @err.puts "run with --resume goes on with it, if no process works at it" if resumable
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
