# frozen_string_literal: true

require "json"

module Trunkline
  module Lab
    # The calls that a client makes in one task, of one kind. It runs in the worker, where only the peer's gems are, so
    # it needs no gem. Several threads may share it.
    class Calls
      # Kind => what it is, for people.
      KINDS = {
        "distinct" => "distinct URLs, each with a number in its query that no call had before",
        "json" => "POSTs of JSON that is made for each call, and their answers parsed",
        "repeated" => "the same request again and again"
      }.freeze
      FIRST = 1_000_000 # so that all URLs are of one length

      # Counted for the whole process, so that no URL comes twice.
      @number = FIRST
      @lock = Mutex.new

      class << self
        # @return [Integer] one that was not given before
        def number = @lock.synchronize { @number += 1 }
      end

      # @param call [Peer::Call] what all have in common
      # @param kind [String] one of KINDS
      # @param more [#call] whether there is another call
      def initialize(call, kind, more = -> { true })
        raise ArgumentError, "no kind of calls #{kind.inspect}" unless KINDS.key?(kind)

        @call = call
        @kind = kind
        @more = more
        @mark = call.path.include?("?") ? "&" : "?"
      end

      # @return [Peer::Call, nil] nil: there are no more
      def next
        return unless @more.call

        case @kind
        when "distinct" then @call.dup.tap { |call| call.path = "#{@call.path}#{@mark}#{Calls.number}" }
        when "json" then @call.dup.tap { |call| call.body = JSON.generate(order(Calls.number)) }
        else @call
        end
      end

      # Takes an answer's body as the caller of such a call does.
      # @return [Integer] bytes
      # @raise [JSON::ParserError] when the call was granted and its answer is no JSON
      def read(status, body)
        JSON.parse(body) if @kind == "json" && status < 400
        body.bytesize
      rescue JSON::ParserError
        raise JSON::ParserError, "an answer is no JSON" # its text is the server's
      end

      private

      def order(number)
        { order: number, customer: "customer-#{number}", currency: "EUR", express: false,
          items: [{ sku: "TL-100", quantity: 2, price: 1999 }, { sku: "TL-250", quantity: 1, price: 8999 }] }
      end
    end
  end
end
