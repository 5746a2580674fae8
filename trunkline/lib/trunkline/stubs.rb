# frozen_string_literal: true

require_relative "../trunkline"
require_relative "arguments"
require_relative "interception"
require_relative "lock"
require_relative "redacted"
require_relative "stubs/stub"
require_relative "verbs"

module Trunkline
  # Answers in the place of a network, for tests. While Stubs are in use, every call of the process (of any client,
  # batch, facade and thread) is answered by the newest stub that matches it, and no other leaves the process.
  #
  #   require "trunkline/stubs"
  #
  #   Trunkline::Stubs.use do |stubs|
  #     stubs.get("https://api.test/users/1").answer(json: { id: 1 })
  #     stubs.post("https://api.test/users", body: /name/).answer(201).then.answer(409)
  #     stubs.get(%r{/slow}).timeout(:first_byte)
  #
  #     MyCode.run
  #   end # raises Stubs::Unused when a stub was never asked for
  class Stubs
    include Redacted

    # A call that no stub matches. An Exception, so that no rescue of the code under test takes it for a failed call.
    class Unexpected < Exception; end # rubocop:disable Lint/InheritException
    # A stub, or an answer of one, that was never asked for.
    class Unused < StandardError; end

    # One call that came while the stubs were in use.
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

    # @return [Array<Call>] every call, stubbed or not, in the order they came
    attr_reader :calls

    # Uses stubs for a block, then asserts that all were used (unless the block raised).
    #
    # @param network [Boolean] whether calls that no stub matches go out
    # @yield [stubs]
    # @return what the block returns
    # @raise [Unused]
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

    # @raise [RactorError] in any but the main Ractor
    def initialize(network: false)
      RactorError.refuse
      @network = network
      @stubs = []
      @calls = []
      @lock = Lock.new
    end

    # @return [self]
    def enable
      Interception.add(self)
      self
    end

    # Idempotent.
    # @return [self]
    def disable
      Interception.remove(self)
      self
    end

    # Adds a stub for requests of any method (see the verbs for the others). Without an answer it is an empty 200.
    #
    # @param url [String, Regexp, nil] a whole URL, which has to be the same one (a query given apart by params:), or a
    #   pattern of it; nil for any
    # @param method [Symbol, String, nil] nil for any
    # @param params [Hash, nil] what the query must have; other parameters may be there
    # @param headers [Hash] values as String or Regexp; nil: the field must not be there
    # @param body [String, Regexp, Hash, #call, nil] the same text; a pattern of it; the same JSON document; called
    #   with the text, whether it is; nil for any
    # @return [Stub] to say what it answers
    # @raise [InvalidRequest] when the URL is none
    def on(url = nil, method: nil, params: nil, headers: {}, body: nil, **others)
      Arguments.refuse_keywords(others, "a stub", "a URL, params:, headers: and body:; then .answer(200, body: ...)")
      stub = Stub.new(method: method, url: url, params: params, headers: headers, body: body)
      @lock.synchronize { @stubs.unshift(stub) }
      stub
    end

    Verbs::NAMES.each do |verb|
      # As #on, for one method.
      # @return [Stub]
      define_method(verb) { |url = nil, **conditions| on(url, method: verb, **conditions) }
    end

    # @return [Array<Stub>] those that were never asked, or have answers left
    def unused
      @lock.synchronize { @stubs.reject(&:used?).reverse }
    end

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
