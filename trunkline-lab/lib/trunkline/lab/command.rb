# frozen_string_literal: true

require "optparse"
require_relative "output/files"
require_relative "output/screen"
require_relative "competitors"
require_relative "result"

module Trunkline
  module Lab
    # Base class of the commands: options, experiment, and output of the result.
    #
    # A subclass measures in #measure. #conclude turns the samples taken so far into tables, charts and sentences, also
    # after Ctrl-C.
    class Command
      class << self
        def name = super.split("::").last.downcase
        def summary(text = nil) = text ? @summary = text : @summary
        def usage(text = nil) = text ? @usage = text : @usage.to_s
        def timed(value = nil) = value.nil? ? @timed != false : @timed = value
      end

      attr_reader :result

      # @param out [IO] for results
      # @param err [IO] for progress
      def initialize(out: $stdout, err: $stderr)
        @out = out
        @err = err
        @files = {}
        @peers = nil
        @accept_noise = false
        defaults
      end

      # @param argv [Array<String>]
      # @return [Integer] exit status
      # @raise [Stop]
      def run(argv)
        arguments(parser.permute(argv.dup))
        Output::Files.check(@files.values)
        @screen = Output::Screen.new(@out, @err, quiet: @quiet)
        @result = Result.new(command: self.class.name, title: title, arguments: called(argv), timed: timed?)
        @started = Clock.now
        begin
          measure
        rescue Interrupt
          @result.interrupted = true
        end
        finish
      rescue OptionParser::ParseError => error
        raise Stop.new("#{error.message}; trunkline-lab #{self.class.name} --help lists the options", USAGE)
      end

      def help = parser.help

      private

      # Sets the defaults of options.
      def defaults = nil

      # Declares options on the parser.
      def options(_parser) = nil

      # Checks the arguments that are not options.
      # @raise [Stop]
      def arguments(rest)
        raise Stop.new("#{rest.first.inspect} is not understood", USAGE) if rest.any?
      end

      def title = self.class.summary

      # The arguments, in which output files are reduced to their base names, because results are shared with other
      # people.
      def called(argv)
        argv.map do |argument|
          file = @files.each_value.find { |written| argument.end_with?(written) }
          file ? argument.delete_suffix(file) + File.basename(file) : argument
        end
      end

      # Whether the result is a measurement of time, which noise on the machine invalidates.
      def timed? = self.class.timed

      def finish
        @result.close
        conclude
        cuts.each { |sentence| @result.say(sentence) }
        raise Stop, "nothing could be measured: #{reasons}" if @result.empty? && !@result.interrupted

        publish
        @out.puts("", "Written: #{@files.each_value.to_a.join(", ")}") if @files.any?
        status
      end

      # The files are written even if printing fails.
      def publish
        @screen.show(@result)
      ensure
        Output::Files.write(results, @files)
      end

      # @return [String] "1 run", "3 runs"
      def counted(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"

      def reasons = @result.missing.map { |label, reason| "#{label}: #{reason}" }.join("; ")

      # Sentences about rounds that were skipped because the time ran out.
      def cuts = []

      # The results to write to files.
      def results = [@result.to_h]

      def status
        return STOPPED if @result.interrupted
        return NOISY if @result.state == "noisy" && !@accept_noise

        DONE
      end

      def parser
        @parser ||= OptionParser.new do |parser|
          parser.banner = "#{self.class.summary}\n\ntrunkline-lab #{self.class.name} #{self.class.usage}".strip
          parser.separator("")
          options(parser)
          parser.separator("")
          common(parser)
        end
      end

      def common(parser)
        Output::Files::KINDS.each do |kind, what|
          parser.on("--#{kind} FILE", "write #{what}") { |file| @files[kind] = file }
        end
        parser.on("--quiet", "print only the sentences, without progress and tables") { @quiet = true }
        return unless self.class.timed

        parser.on("--accept-noise", "exit with 0 even if the machine was noisy") { @accept_noise = true }
      end

      def peer_choice(parser)
        parser.on("--client LIST", "of #{known_peers.map(&:id).sort.join(", ")}") { |list| @peers = choice(list) }
        install_option(parser)
      end

      def install_option(parser)
        parser.on("--install", "download the gems of clients that are not installed (into the lab's cache)") do
          Bundle.download = true
        end
      end

      # Adds rows for programs in C, which show the limit of this machine.
      # @param programs [Array<Class>] classes of Limits
      def limit_choice(parser, *programs)
        @limits = programs
        names = programs.map(&:label).join(" and ")
        parser.on("--[no-]limits", "rows of #{names}, which show the limit of this machine (yes)") do |yes|
          @limits = [] unless yes
        end
      end

      def choice(list)
        names(list, known_peers.map(&:id).sort, "client").map { |id| known_peers.find { |peer| peer.id == id } }
      end

      # @return [Array<String>] the distinct names in the list
      # @raise [OptionParser::InvalidArgument]
      def names(list, known, what)
        names = list.split(",").uniq
        unknown = names.empty? ? [""] : names - known
        return names if unknown.empty?

        raise OptionParser::InvalidArgument, "no #{what} #{unknown.first.inspect}; there are #{known.join(", ")}"
      end

      # @return [Array<Class>] the clients that --client can select
      def known_peers = Peer.all

      # The selected clients, Trunkline first.
      def peers
        chosen = @peers || known_peers
        chosen.partition(&:trunkline?).flatten
      end

      def with_competitors(list = peers, **options, &block)
        Competitors.open(list, missing: @result.missing, clients: @result.clients, screen: @screen, **options, &block)
      end
    end
  end
end
