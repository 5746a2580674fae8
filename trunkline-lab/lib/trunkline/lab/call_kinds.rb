# frozen_string_literal: true

require_relative "calls"
require_relative "peer"
require_relative "target"

module Trunkline
  module Lab
    # The option of commands that make calls: of which kinds (Calls), each with a table of its own.
    module CallKinds
      TITLES = { "distinct" => "GETs of distinct URLs", "json" => "POSTs of JSON",
                 "repeated" => "the same call repeated" }.freeze
      DEFAULT = %w[distinct json].freeze
      JSON_FIELDS = { "Content-Type" => "application/json" }.freeze

      private

      def kinds_option(parser)
        told = Calls::KINDS.map { |kind, what| "#{kind}: #{what}" }
        parser.on("--calls LIST", *told[0..-2].map { |line| "#{line};" }, told.last) do |list|
          @kinds = names(list, Calls::KINDS.keys, "kind of calls")
        end
      end

      # For commands that make one kind of calls.
      def kind_option(parser)
        parser.on("--calls KIND", Calls::KINDS.keys,
                  "#{Calls::KINDS.keys.join(", ")} (sweep --help explains them)") do |kind|
          @kinds = [kind]
        end
      end

      # Those that were asked for; or the usual ones of a server of the lab's own, and of any other the call as it is.
      # @return [Array<String>]
      def kinds = @kinds ||= @target.built_in? && plain? ? DEFAULT : %w[repeated]

      # Whether no other call than a GET was asked for.
      def plain? = @call.nil? || (@call[:verb] == "GET" && @call[:body].nil?)

      # Arguments of a task for calls of that kind.
      # @param call [Hash] the call as it was asked for
      def told(kind, call)
        return { call: call, kind: kind } unless kind == "json"

        { call: call.merge(verb: "POST", path: @target.json_path, headers: JSON_FIELDS.merge(call[:headers].to_h)),
          kind: kind }
      end

      # The one kind that was asked for, or the first of the usual ones.
      def kind = kinds.first

      # What is called, for titles: the kind is not known before the server is, unless it was asked for.
      def asked = @kinds ? "#{TITLES.fetch(kind)} to #{place}" : "#{@call[:verb]} #{place}"

      # @return [Hash] a call of that kind, as it is sent; a URL is distinct without a number once
      def first_call
        first = told(kind, call).fetch(:call)
        kind == "json" ? Calls.new(Peer::Call.of(**first), kind).next.to_h : first
      end

      # What each client must answer the first call of each kind with.
      # @return [Array<Hash>] for Competitors.open
      def checks(call)
        kinds.map { |kind| told(kind, call).merge(digest: (@target.digest(kind) unless call[:verb] == "HEAD")) }
      end
    end
  end
end
