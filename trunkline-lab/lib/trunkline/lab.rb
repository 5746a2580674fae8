# frozen_string_literal: true

require_relative "lab/version"

module Trunkline
  # Experiments with HTTP from Ruby, on this machine. `trunkline-lab --help` lists them; docs are in the README.
  module Lab
    # Ends the program with one sentence for the user and an exit status.
    class Stop < StandardError
      # @return [Integer]
      attr_reader :status

      def initialize(message, status = FAILED)
        @status = status
        super(message)
      end
    end

    # Exit codes, for scripts.
    DONE = 0
    FAILED = 1   # a server refused or erred, a part is missing
    USAGE = 2    # the command line cannot be understood, or asks for more than is polite
    NOISY = 3    # measured, but the machine was too noisy to call it a result
    CROSSED = 4  # beyond what --fail-if allows
    STOPPED = 130 # Ctrl-C
  end
end

%w[cli].each { |part| require_relative "lab/#{part}" }
