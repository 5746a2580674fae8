# frozen_string_literal: true

require_relative "../../many/followed"
require_relative "../../redacted"
require_relative "outcome"
require_relative "recipe"

module Trunkline
  module TyphoeusFace
    # One request on its way: from its options to its response, over redirects. Whoever carries it, a hydra or a call,
    # sends #plan and hands over what came; #take says whether there is more to send.
    class Flight
      include Redacted

      # @return [Composer::Plan, nil] what is to be sent; nil when the request could not be composed
      attr_reader :plan
      # @return [Float, nil] monotonic seconds
      attr_reader :deadline
      # @return [Typhoeus::Request]
      attr_reader :request
      # The engine's number for it.
      attr_accessor :id

      # @param request [Typhoeus::Request]
      # @param connections [Integer] how many to a host at most
      # @return [Flight]
      # @raise [Typhoeus::Errors::InvalidOption, ArgumentError] what cannot be sent, but for URLs
      def self.of(request, connections = Recipe::ANY_NUMBER)
        (streamed?(request) ? StreamedFlight : self).new(request, connections)
      end

      # Whoever wants to know something before the end.
      def self.streamed?(request)
        request.streaming? || told?(request.on_headers_blocks) || told?(request.on_progress_blocks) ||
          told?(::Typhoeus.on_headers_blocks) || told?(::Typhoeus.on_progress_blocks)
      end

      def self.told?(blocks)
        !blocks.nil? && !blocks.empty?
      end
      private_class_method :told?

      def initialize(request, connections)
        @request = request
        @recipe = Recipe.of(request.options, connections)
        @plan = @recipe.plan(request)
        @deadline = @recipe.deadline
        dress
      rescue InvalidRequest => error
        raise unless @recipe && error.message.start_with?("url")

        @refused = error
      end

      # @return [Boolean]
      def streamed? = false

      # @return [Boolean] whether the request has its response
      def over? = @over ? true : false

      # Ends at once what has nothing to send.
      # @return [Boolean] whether it was ended
      def refused?
        return false unless @refused

        finish(Outcome.new(self, nil, :url_malformat, @refused))
        true
      end

      # @param result [Response, Error]
      # @return [Composer::Plan, nil] what to send next
      def take(result)
        if @followed || (@recipe.redirect && Many::Followed.redirect?(result))
          result = follow(result)
          return @plan = result if result.is_a?(Composer::Plan)
        end
        result.is_a?(Exception) ? fail_with(result) : answer(result)
        nil
      end

      # ---- for the Outcome ----

      # @return [Hash]
      def options = @request.options

      # @return [String]
      def url = @request.shown_url

      # @return [Array<Response>] redirects that were followed
      def passed = @passed || []

      # @return [Integer] bytes
      def upload_size = @plan&.body_length || 0

      # @return [Integer] bytes
      def received = @response.nil? ? 0 : @response.body.bytesize

      private

      # What is done around each exchange of the request: cookies, within the answers to challenges.
      def dress
        auth = @recipe.auth(@request, @plan)
        @cookies = Cookies.new(@recipe.cookies, @recipe.composer) if @recipe.cookies
        return unless auth || @cookies

        @followed = Many::Followed.new(@plan, @recipe.redirect, around(auth, @cookies))
        @plan = @followed.first
        raise @plan if @plan.is_a?(Exception)
      end

      def around(auth, cookies)
        return auth || cookies unless auth && cookies

        ->(plan, &once) { auth.call(plan) { |step| cookies.call(step, &once) } }
      end

      def follow(result)
        @followed ||= Many::Followed.new(@plan, @recipe.redirect)
        following = @followed.after(result)
        @passed = [*@passed, result] if following.is_a?(Composer::Plan)
        following
      end

      def answer(response)
        @response = response
        return finish(Outcome.new(self, response)) unless @recipe.fails_on_error? && response.status >= 400

        finish(Outcome.new(self, response, :http_returned_error, nil, String.new))
      end

      # What the caller's own body raised is the caller's; so are redirects' last answers.
      def fail_with(error)
        raise error unless error.is_a?(Error) || error.is_a?(InvalidRequest)

        @response = error.response if error.is_a?(AnswerError)
        finish(Outcome.new(self, @response, Codes.of(error), error))
      end

      def finish(outcome)
        @over = true
        @plan&.content&.release
        keep_cookies if @cookies
        trace(outcome) if @recipe&.verbose?
        @request.finish(::Typhoeus::Response.of(outcome))
      end

      # An answer that was broken off has told of them, too.
      def keep_cookies
        @cookies.take(@response) if @response
        @cookies.save
      end

      # What libcurl's verbose output tells, without credentials and bodies.
      def trace(outcome)
        request = @plan&.request
        lines = []
        if request
          lines << "> #{request.method} #{URL.redact(request.uri.target)} HTTP/1.1"
          lines.concat(Headers.redact(request.headers).map { |pair| "> #{pair.join(": ")}" })
        end
        lines.concat(outcome.response_headers.split("\r\n").map { |line| "< #{shown_line(line)}" })
        $stderr.puts(lines, "* #{outcome.return_code}#{": #{outcome.error.message}" if outcome.error}")
      end

      # A status line has no colon before its first blank.
      def shown_line(line)
        name = line[/\A[^: ]+(?=:)/]
        name && Headers.hidden?(name) ? "#{name}: #{Redacted::HIDDEN}" : line
      end
    end
  end
end
