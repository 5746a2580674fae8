# frozen_string_literal: true

require "trunkline"
require_relative "command"

module Trunkline
  module Lab
    # The command line. Every failure is reported in one sentence.
    module CLI
      COMMANDS = %w[sweep best load keepalive clients chatty timeouts safety storm tail gvl tokens nplus1 xml compare
                    report tour install].freeze

      module_function

      # @return [Integer] exit status
      def run(argv, out: $stdout, err: $stderr)
        status = perform(*argv, out: out, err: err)
        out.flush
        status
      rescue Stop, Origins::Missing, Bundle::Failed, PeerProcess::Failed => error
        err.puts "trunkline-lab: #{error.message}"
        error.respond_to?(:status) ? error.status : FAILED
      rescue Interrupt
        err.puts "trunkline-lab: stopped"
        STOPPED
      rescue Errno::EPIPE
        FAILED # the reader of the output has closed the pipe
      rescue SystemCallError => error
        err.puts "trunkline-lab: #{error.message}"
        FAILED
      end

      def perform(name = nil, *rest, out:, err:)
        return help(out) if name.nil? || %w[--help -h help].include?(name)
        return version(out) if %w[--version -v].include?(name)

        command = command(name).new(out: out, err: err)
        return out.puts(command.help) || DONE if rest.intersect?(%w[--help -h])

        command.run(rest)
      end

      def command(name)
        raise Stop.new("there is no command #{name.inspect}; there are #{COMMANDS.join(", ")}", USAGE) unless
          COMMANDS.include?(name)

        require_relative "commands/#{name}"
        Commands.constants.map { |constant| Commands.const_get(constant) }
          .find { |found| found.is_a?(Class) && found.name == name }
      end

      def help(out)
        out.puts "Experiments with HTTP from Ruby, on this machine.", "", "trunkline-lab COMMAND ...", ""
        COMMANDS.each { |name| out.puts format("  %-10<name>s %<text>s", name: name, text: command(name).summary) }
        out.puts "", "Each command has --help, --quiet, and --json, --csv, --samples, --markdown and --html FILE. It",
                 "exits with 0 when done, 1 when something failed, 2 for wrong arguments, 3 when the machine was too",
                 "noisy for a result, 4 beyond a limit of --fail-if or --fail-if-worse, 130 after Ctrl-C."
        DONE
      end

      def version(out)
        out.puts "trunkline-lab #{VERSION}, trunkline #{Trunkline::VERSION}"
        DONE
      end
    end
  end
end
