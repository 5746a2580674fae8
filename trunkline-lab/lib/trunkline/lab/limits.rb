# frozen_string_literal: true

%w[bare_curl null_builder wrk].each { |program| require_relative "limits/#{program}" }

module Trunkline
  module Lab
    # Programs in C that show the limit of this machine, in rows "limit: ..." next to the clients. They implement some
    # of the tasks of a client's worker (Tasks).
    module Limits
      PREFIX = "limit: "

      # A program among the competitors.
      Member = Struct.new(:program) do
        def label = "#{PREFIX}#{program.class.label}"
        def trunkline? = false
        def makes?(kind) = program.class::KINDS.include?(kind)
        def ask(task, **arguments) = program.public_send(task, **arguments)
        def stop = nil
      end

      # Whether a row is that of a limit.
      def self.row?(label) = label.start_with?(PREFIX)
    end
  end
end
