# frozen_string_literal: true

require_relative "calls"
require_relative "peer"
require_relative "target"

module Trunkline
  module Lab
    # The option that selects the kinds of calls (see Calls) for a command; each kind gets a separate table.
    module CallKinds
      TITLES = { "distinct" => "GETs of distinct URLs", "json" => "POSTs of JSON",
                 "repeated" => "the same call repeated" }.freeze
      DEFAULT = %w[distinct json].freeze
      JSON_FIELDS = { "Content-Type" => "application/json" }.freeze

      private

      def kinds_option(parser)
        descriptions = Calls::KINDS.map { |kind, what| "#{kind}: #{what}" }
        parser.on("--calls LIST", *descriptions[0..-2].map { |line| "#{line};" }, descriptions.last) do |list|
          @kinds = names(list, Calls::KINDS.keys, "kind of calls")
        end
      end

      # For commands that make a single kind of call.
      def kind_option(parser)
        parser.on("--calls KIND", Calls::KINDS.keys,
                  "#{Calls::KINDS.keys.join(", ")} (sweep --help explains them)") do |kind|
          @kinds = [kind]
        end
      end

      # The requested kinds. The default is DEFAULT for a server of the lab, and the unchanged call for any other
      # server.
      # @return [Array<String>]
      def kinds = @kinds ||= @target.built_in? && plain? ? DEFAULT : %w[repeated]

      # Whether the call is a GET without a body.
      def plain? = @call.nil? || (@call[:verb] == "GET" && @call[:body].nil?)

      # Arguments of a task for calls of this kind.
      # @param call [Hash] the call that the user specified
      def task_arguments(kind, call)
        return { call: call, kind: kind } unless kind == "json"

        { call: call.merge(verb: "POST", path: @target.json_path, headers: JSON_FIELDS.merge(call[:headers].to_h)),
          kind: kind }
      end

      # The requested kind, or the first of the defaults.
      def kind = kinds.first

      # The call, for titles. Without the option, the kind is not known before the server is started.
      def call_title = @kinds ? "#{TITLES.fetch(kind)} to #{place}" : "#{@call[:verb]} #{place}"

      # The same for commands that make several kinds of calls.
      def call_titles
        @kinds ? "#{TITLES.values_at(*@kinds).join(" and ")} to #{place}" : "#{@call[:verb]} #{place}"
      end

      # @return [Hash] one call of that kind, as it is sent; a call for a distinct URL has no number here
      def first_call
        first = task_arguments(kind, call).fetch(:call)
        kind == "json" ? Calls.new(Peer::Call.of(**first), kind).next.to_h : first
      end

      # The checks of each client's first call of each kind.
      # @return [Array<Hash>] for Competitors.open
      def checks(call)
        kinds.map do |kind|
          task_arguments(kind, call).merge(digest: (@target.digest(kind) unless call[:verb] == "HEAD"))
        end
      end
    end
  end
end
