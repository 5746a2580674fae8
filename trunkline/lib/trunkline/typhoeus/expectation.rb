# frozen_string_literal: true

require "uri"

module Typhoeus
  # A stub: which requests it answers, and with what. See Typhoeus.stub.
  class Expectation
    include ::Trunkline::Redacted

    class << self
      # @return [Array<Expectation>] the first that matches answers
      def all
        @all ||= []
      end

      # @return [Array]
      def clear
        all.clear
      end

      # @api private
      # @return [Response, nil]
      def response_for(request)
        find_by(request)&.response(request) unless all.empty?
      end

      # @api private
      def find_by(request)
        all.find { |expectation| expectation.matches?(request) }
      end
    end

    # @return [String, Regexp, URI, nil]
    attr_reader :base_url
    # @return [Hash]
    attr_reader :options
    # @return [Object, nil] who made it
    attr_reader :from
    # @return [Integer] how many requests it has answered
    attr_reader :response_counter

    # @api private
    def initialize(base_url, options = {})
      @base_url = base_url
      @options = options
      @response_counter = 0
      @from = nil
    end

    # Marks it as another library's.
    # @return [self]
    def stubbed_from(value)
      @from = value
      self
    end

    # Adds answers: each is given once, the last one for ever.
    #
    # @param response [Response, Array<Response>, nil]
    # @yield [request] gives the Response
    def and_return(response = nil, &block)
      responses.push(*(response || block))
    end

    # @return [Array<Response, Proc>]
    def responses
      @responses ||= []
    end

    # @return [Boolean]
    def matches?(request)
      url_match?(request.base_url.to_s) && options_match?(request)
    end

    # @api private
    # @return [Response]
    # @raise [Errors::NoResponse]
    def response(request)
      answer = responses.fetch(@response_counter) { responses.last }
      answer = called(answer, request) if answer.respond_to?(:call)
      refuse(nil) if answer.nil?
      refuse("expected a Typhoeus::Response, got #{answer.class}") unless answer.is_a?(Response)

      @response_counter += 1
      # A block may hand on the answer to a real request, which is none of ours.
      answer.mock = @from || true unless answer.request
      answer
    end

    private

    def called(block, request)
      answer = block.call(request)
      answer.nil? ? refuse("the response block returned nil") : answer
    end

    def refuse(reason)
      raise Errors::NoResponse.new(base_url, reason)
    end

    def url_match?(url)
      case base_url
      when nil then true
      when Regexp then base_url.match?(url)
      when String, URI then base_url.to_s == url
      else false
      end
    end

    def options_match?(request)
      return true if options.nil?

      options.all? { |name, value| request.original_options[name] == value || request.options[name] == value }
    end
  end
end
