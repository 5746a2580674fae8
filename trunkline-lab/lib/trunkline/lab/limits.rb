# frozen_string_literal: true

%w[bare_curl null_builder wrk].each { |program| require_relative "limits/#{program}" }

module Trunkline
  module Lab
    # Programs in C that show how far this machine goes: the rows "limit: ..." beside the clients. They take the
    # tasks of a client's worker (Tasks) that they can do.
    module Limits
      PREFIX = "limit: "

      # A program among the competitors.
      Member = Struct.new(:program) do
        def label = "#{PREFIX}#{program.class.label}"
        def ours? = false
        def makes?(kind) = program.class::KINDS.include?(kind)
        def ask(task, **arguments) = program.public_send(task, **arguments)
        def stop = nil
      end

      # Whether a row is of one.
      def self.row?(label) = label.start_with?(PREFIX)
    end
  end
end
