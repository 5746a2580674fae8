# frozen_string_literal: true

require "json"

module Trunkline
  module Lab
    # Produces the calls of one kind that a client makes in one task. It runs in the worker, which has only the peer's
    # gems, so it uses no gem. Several threads may share it.
    class Calls
      # Kind => description for the user.
      KINDS = {
        "distinct" => "GETs of distinct URLs, each with a number in its query that no earlier call had",
        "json" => "POSTs of JSON that is generated for each call; the JSON of each response is parsed",
        "repeated" => "the same request repeated"
      }.freeze
      FIRST = 1_000_000 # seven digits, so that all URLs have the same length

      # Counted per process, so that no URL is used twice.
      @number = FIRST
      @lock = Mutex.new

      class << self
        # @return [Integer] a number that was not returned before
        def number = @lock.synchronize { @number += 1 }
      end

      # @param call [Peer::Call] the common part of all calls
      # @param kind [String] one of KINDS
      # @param more [#call] returns whether there is another call
      def initialize(call, kind, more = -> { true })
        raise ArgumentError, "no kind of calls #{kind.inspect}" unless KINDS.key?(kind)

        @call = call
        @kind = kind
        @more = more
        @mark = call.path.include?("?") ? "&" : "?"
      end

      # @return [Peer::Call, nil] nil when there are no more calls
      def next
        return unless @more.call

        return @call if @kind == "repeated"

        call = @call.dup
        case @kind
        when "distinct" then call.path = "#{@call.path}#{@mark}#{Calls.number}"
        when "json" then call.body = JSON.generate(order(Calls.number))
        end
        call
      end

      # Reads the body of a response as the caller of such a call would.
      # @return [Integer] bytes
      # @raise [JSON::ParserError] when a successful response is not valid JSON
      def read(status, body)
        JSON.parse(body) if @kind == "json" && status < 400
        body.bytesize
      rescue JSON::ParserError
        raise JSON::ParserError, "a response is not JSON" # the parser's message would quote the server's text
      end

      private

      def order(number)
        { order: number, customer: "customer-#{number}", currency: "EUR", express: false,
          items: [{ sku: "TL-100", quantity: 2, price: 1999 }, { sku: "TL-250", quantity: 1, price: 8999 }] }
      end
    end
  end
end
