# frozen_string_literal: true

require_relative "../trunkline"
require_relative "arguments"
require_relative "interception"
require_relative "lock"
require_relative "redacted"
require_relative "stubs/stub"
require_relative "verbs"

module Trunkline
  # Stubbed responses for tests. While Stubs are enabled, every call of the process (of any client, batch, facade and
  # thread) gets its response from the newest stub that matches it. A call that no stub matches is not sent, unless
  # network: is true.
  #
  #   require "trunkline/stubs"
  #
  #   Trunkline::Stubs.use do |stubs|
  #     stubs.get("https://api.test/users/1").answer(json: { id: 1 })
  #     stubs.post("https://api.test/users", body: /name/).answer(201).then.answer(409)
  #     stubs.get(%r{/slow}).timeout(:first_byte)
  #
  #     MyCode.run
  #   end # raises Stubs::Unused when a stub was not used
  class Stubs
    include Redacted

    # Raised for a call that no stub matches. An Exception, so that a rescue in the code under test does not treat it as
    # a failed call.
    class Unexpected < Exception; end # rubocop:disable Lint/InheritException
    # Raised when a stub, or one of its responses, was not used.
    class Unused < StandardError; end

    # A call that was made while the stubs were enabled.
    #
    #   request   the Trunkline::Request
    #   body      the whole of its body as a String, or nil
    Call = Struct.new(:request, :body) do
      include Redacted

      # The body is not shown: it may hold a credential.
      def inspect
        "#<#{self.class} #{request.method} #{request.uri.shown}#{" with #{body.bytesize} bytes" if body}>"
      end
    end

    # @return [Array<Call>] every call, stubbed or not, in the order in which they were made
    attr_reader :calls

    # Enables new stubs for a block, then checks that all were used (unless the block raised).
    #
    # @param network [Boolean] whether calls that no stub matches are sent
    # @yield [stubs]
    # @return what the block returns
    # @raise [Unused] when a stub, or one of its responses, was not used
    # @raise [InvalidRequest] without a block
    def self.use(network: false)
      raise InvalidRequest, "use: needs a block, whose calls are answered by the stubs" unless block_given?

      stubs = new(network: network)
      stubs.enable
      result = yield stubs
      stubs.verify
      result
    ensure
      stubs&.disable
    end

    # @param network [Boolean] whether calls that no stub matches are sent
    # @raise [RactorError] in any Ractor but the main one
    def initialize(network: false)
      RactorError.refuse
      @network = network
      @stubs = []
      @calls = []
      @lock = Lock.new
    end

    # Makes these stubs respond to all calls of the process from now on.
    # @return [self]
    def enable
      Interception.add(self)
      self
    end

    # Ends the effect of #enable. Does nothing when the stubs are not enabled.
    # @return [self]
    def disable
      Interception.remove(self)
      self
    end

    # Adds a stub. The methods named after HTTP methods, such as #get, do the same for one method. A stub for which no
    # response is set responds with an empty 200.
    #
    # @param url [String, Regexp, nil] a complete URL, which must equal that of the request (with params:, the query may
    #   have more parameters), or a pattern that the URL must match; nil for any
    # @param method [Symbol, String, nil] nil for any
    # @param params [Hash, nil] parameters that the query must have; it may have others
    # @param headers [Hash] header fields that the request must have, with values as String or Regexp; nil as a value:
    #   the field must be absent
    # @param body [String, Regexp, Hash, #call, nil] String: the same text; Regexp: a pattern that the text must match;
    #   Hash: the same JSON document; callable: called with the text, returns whether it matches; nil for any
    # @return [Stub] to set its responses
    # @raise [InvalidRequest] for an invalid URL or an unknown argument
    def on(url = nil, method: nil, params: nil, headers: {}, body: nil, **others)
      Arguments.refuse_keywords(others, "a stub", "a URL, params:, headers: and body:; then .answer(200, body: ...)")
      stub = Stub.new(method: method, url: url, params: params, headers: headers, body: body)
      @lock.synchronize { @stubs.unshift(stub) }
      stub
    end

    Verbs::NAMES.each do |verb|
      # Adds a stub for requests with this method; takes the other arguments of #on.
      # @return [Stub]
      define_method(verb) { |url = nil, **conditions| on(url, method: verb, **conditions) }
    end

    # @return [Array<Stub>] the stubs that were not used, or have responses that were not used
    def unused
      @lock.synchronize { @stubs.reject(&:used?).reverse }
    end

    # Checks that all stubs and their responses were used.
    # @return [true]
    # @raise [Unused] naming each stub that was not used
    def verify
      left = unused
      return true if left.empty?

      raise Unused, "never asked for: #{left.join("; ")}"
    end

    # @api private See Interception.
    def intercept(request, body)
      step = @lock.synchronize do
        @calls << Call.new(request, body).freeze
        @stubs.find { |stub| stub.match?(request, body) }&.take
      end
      return step.call(request, body) if step
      return if @network

      raise Unexpected, "no stub for #{request.method} #{request.uri.shown}; there are: #{@stubs.reverse.join("; ")}"
    end
  end
end
