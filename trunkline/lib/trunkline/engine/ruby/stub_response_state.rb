# frozen_string_literal: true

require_relative "head"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # A response without a connection, for tests: its head is parsed like a real one.
      class StubResponseState
        include Redacted

        NO_CONNECTION = { id: 0, reused: false, age: nil, address: nil, tls_version: nil, cipher: nil }.freeze
        private_constant :NO_CONNECTION

        attr_reader :body

        # @param text [String] the head as a server sends it
        # @param body [String] the body as the caller receives it
        # @raise [Failure]
        def initialize(text, body)
          @head = Head.new(HeadLimits.of(64 * 1024, 200, false), true, false)
          raise Failure, :TRUNCATED_HEAD unless @head.parse(text.b)

          @body = body.b
        end

        def head? = true
        def status = @head.status
        def reason = @head.reason
        def given_reason = @head.given_reason
        def minor_version = @head.minor_version
        def fields = @head.fields
        def trailers = []
        def early_hints = []
        def complete? = true
        def live? = false
        def streamed? = false
        def length_unknown? = false
        def body_begun? = false
        def timings = [nil, nil, nil, nil, nil, nil, 0.0, 0.0]
        def began = nil
        def connection = NO_CONNECTION
        def attempts = [[1, :first, nil, :all, nil]]
        def switched = nil
        def read(_into = nil) = nil
        def close = nil
        def note_call_site(_call_site) = nil
      end
    end
  end
end
