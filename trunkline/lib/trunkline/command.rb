# frozen_string_literal: true

require "optparse"
require_relative "../trunkline"
require_relative "command/arguments"
require_relative "command/doctor"
require_relative "command/printer"

module Trunkline
  # The command "trunkline": makes a call and prints the response, or checks what this machine and build support
  # (doctor).
  #
  #   trunkline get https://api.test/users
  #   trunkline post https://api.test/users --json name=Ada
  #   trunkline doctor
  #
  # @api private
  class Command
    # Exit statuses.
    OK = 0
    FAILED = 1 # no response, or doctor found a fault
    USAGE = 2
    CLIENT_ERROR = 3 # the response has status 4xx
    SERVER_ERROR = 4 # the response has status 5xx

    # @param out [IO] gets bodies, and the output of doctor
    # @param err [IO] gets everything else
    # @param input [IO] source of the body for --body -
    def initialize(out: $stdout, err: $stderr, input: $stdin)
      @out = out
      @err = err
      @input = input
    end

    # @param argv [Array<String>]
    # @return [Integer] the exit status
    def run(argv)
      arguments = Arguments.new(@input).parse(argv)
      return show(arguments.text) if arguments.text
      return Doctor.new(@out).run if arguments.verb == "doctor"

      call(arguments)
    rescue OptionParser::ParseError, ArgumentError => error # InvalidRequest is an ArgumentError
      @err.puts "trunkline: #{error.message}", "Try: trunkline --help"
      USAGE
    rescue Error => error
      @err.puts "trunkline: #{error.message}"
      FAILED
    rescue Interrupt
      130
    end

    private

    def show(text)
      @out.puts text
      OK
    end

    def call(arguments)
      client = Trunkline.new(arguments.client_options)
      printer = Printer.new(@out, @err, arguments)
      response = nil
      arguments.repeat.times do |number|
        response = client.request(arguments.verb.upcase, arguments.url, arguments.call_options)
        printer.timings(response, number + 1)
      end
      printer.response(response)
      exit_status(response)
    ensure
      client&.close
    end

    def exit_status(response)
      case response.status
      when 400..499 then CLIENT_ERROR
      when 500..599 then SERVER_ERROR
      else OK
      end
    end
  end
end
