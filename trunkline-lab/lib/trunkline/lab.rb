# frozen_string_literal: true

require_relative "lab/version"

module Trunkline
  # Experiments with HTTP from Ruby on this machine. `trunkline-lab --help` lists them; the README documents them.
  module Lab
    # Ends the program with a one-sentence message for the user and an exit status.
    class Stop < StandardError
      # @return [Integer]
      attr_reader :status

      def initialize(message, status = FAILED)
        @status = status
        super(message)
      end
    end

    # Exit statuses.
    DONE = 0
    FAILED = 1   # a server refused or failed, or a required part is missing
    USAGE = 2    # the command line is invalid, or asks for more load than is allowed without --i-own-this-server
    NOISY = 3    # measured, but the machine was too noisy for a valid result
    CROSSED = 4  # a limit of --fail-if was exceeded
    STOPPED = 130 # Ctrl-C
  end
end

%w[cli].each { |part| require_relative "lab/#{part}" }
