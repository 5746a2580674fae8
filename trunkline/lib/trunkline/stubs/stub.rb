# frozen_string_literal: true

require "json"
require_relative "../interception"
require_relative "../query"
require_relative "../redacted"
require_relative "fault"

module Trunkline
  class Stubs
    # The stubbed responses ("answers") to one kind of request. Each is used once, in order; the last one is used for
    # all further calls.
    #
    #   stubs.get(url).answer(503).then.timeout(:read).then.answer(200, body: "ok")
    class Stub
      include Redacted

      # @api private See Stubs#on.
      def initialize(method:, url:, params:, headers:, body:)
        @method = method&.to_s&.upcase
        @url = url.is_a?(Regexp) || url.nil? ? url : URL.parse(url).without_userinfo
        @params = params && Query.encode(params).split("&")
        @headers = headers
        @body = body
        @steps = []
        @asked = 0
      end

      # @param status [Integer] 100 to 599
      # @param headers [Hash] in the form that a call accepts
      # @param body [String] the body that the caller receives; it is not decoded
      # @param json [Object] the body as JSON, with its Content-Type
      # @param reason [String]
      # @yield [request, body] in place of these arguments; returns a Hash of them, including status:
      # @return [self]
      def answer(status = 200, headers: {}, body: nil, json: nil, reason: "", **others, &block)
        Arguments.refuse_keywords(others, "answer", "a status, as in answer(404), headers:, body:, json: and reason:")
        unless status.is_a?(Integer) && status.between?(100, 599)
          raise InvalidRequest.of("status", status, "an Integer from 100 to 599")
        end
        raise InvalidRequest, "body: and json: exclude each other; give one" if body && json

        content = { headers: headers, body: body, json: json, reason: reason }
        add do |request, text|
          block ? plain(request, **block.call(request, text)) : plain(request, status: status, **content)
        end
      end

      # Makes the call raise the timeout error of a phase.
      # @param phase [Symbol] :queue, :resolve, :connect, :tls, :write, :first_byte, :read or :total
      # @return [self]
      def timeout(phase = :total)
        fault(Fault.timeout(phase))
      end

      # Makes the call raise ConnectError, as for a refused connection.
      # @return [self]
      def refuse = fault(Fault::REFUSED)

      # Makes the connection close before the response begins, or within its body. A call that streams receives the
      # bytes before that.
      # @param after [Integer, nil] bytes of the body that arrive; nil if the response does not begin
      # @param status [Integer] of the truncated response
      # @param headers [Hash]
      # @param body [String] at least as long as after
      # @return [self]
      def reset(after: nil, status: 200, headers: {}, body: "")
        return fault(Fault::CLOSED) if after.nil?
        unless after.is_a?(Integer) && after.between?(0, body.bytesize)
          raise InvalidRequest.of("after", after, "an Integer from 0 to the body's #{body.bytesize} bytes")
        end

        add do |request, _|
          Interception::Answer.of(request, status: status, headers: headers, body: body.byteslice(0, after),
                                           error: Fault::CUT.error(request, "#{after} of #{body.bytesize} bytes"))
        end
      end

      # @param error [Exception, Class] the error that the call raises
      # @return [self]
      def raises(error)
        add { |_, _| raise error }
      end

      # Separates two answers in a chain, and does nothing else.
      # @return [self]
      def then = self

      # @return [Integer] how many calls the stub has answered
      attr_reader :asked

      # @return [Boolean] whether every answer was used
      def used? = @asked >= [@steps.size, 1].max

      # @api private
      # @return [Boolean]
      def match?(request, body)
        (@method.nil? || @method == request.method) && url?(request) && params?(request) &&
          @headers.all? { |name, wanted| field?(wanted, request.headers[name]) } && body?(body)
      end

      # @api private
      # @return [#call] the next answer; called with request and body
      def take
        step = @steps[@asked] || @steps.last || ->(request, _) { plain(request) }
        @asked += 1
        step
      end

      # Queries and headers are not shown: they may be credentials.
      # @return [String]
      def to_s
        shown = @url.is_a?(URL) ? @url.shown : @url&.inspect
        count = " (#{@asked} of #{@steps.size} answers)" if @steps.size > 1
        "#{@method || "any method"} #{shown || "any URL"}#{count}"
      end

      private

      def add(&step)
        @steps << step
        self
      end

      def fault(fault)
        add { |request, _| raise fault.error(request) }
      end

      def plain(request, status: 200, headers: {}, body: nil, json: nil, reason: "")
        fields = Headers.pairs(headers)
        if json
          body = JSON.generate(json)
          fields = Headers.overlay([%w[Content-Type application/json]], fields)
        end
        Interception::Answer.of(request, status: status, reason: reason, headers: fields, body: body || "")
      end

      # With params:, #params? compares the query, which may contain more than the stub's URL and params.
      def url?(request)
        case @url
        when nil then true
        when Regexp then @url.match?(request.url)
        else
          return request.url == @url.to_s unless @params

          uri = request.uri
          [uri.origin, uri.path] == [@url.origin, @url.path]
        end
      end

      def params?(request)
        return true unless @params

        sent = (request.uri.query || "").split("&")
        in_url = @url.is_a?(URL) ? (@url.query || "").split("&") : []
        (@params + in_url - sent).empty?
      end

      def field?(wanted, value)
        wanted.is_a?(Regexp) ? wanted.match?(value || "") : wanted&.to_s == value
      end

      def body?(text)
        case @body
        when nil then true
        when Regexp then @body.match?(text || "")
        when Hash then document(text) == document(JSON.generate(@body))
        when ->(any) { any.respond_to?(:call) } then @body.call(text)
        else @body.b == (text || "").b
        end
      end

      def document(text)
        JSON.parse(text.to_s)
      rescue JSON::ParserError
        nil
      end
    end
  end
end
