# frozen_string_literal: true

require "uri"

module Typhoeus
  # A stub: the requests that it matches, and their responses. See Typhoeus.stub.
  class Expectation
    include ::Trunkline::Redacted

    class << self
      # @return [Array<Expectation>] all stubs; the first one that matches a request is used
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
    # @return [Object, nil] the library that made the stub
    attr_reader :from
    # @return [Integer] how many responses the stub has returned
    attr_reader :response_counter

    # @api private
    def initialize(base_url, options = {})
      @base_url = base_url
      @options = options
      @response_counter = 0
      @from = nil
    end

    # Marks the stub as made by another library.
    # @return [self]
    def stubbed_from(value)
      @from = value
      self
    end

    # Adds responses: each is returned once, the last one from then on.
    #
    # @param response [Response, Array<Response>, nil]
    # @yield [request] returns the Response
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
      response = responses.fetch(@response_counter) { responses.last }
      response = call_block(response, request) if response.respond_to?(:call)
      refuse(nil) if response.nil?
      refuse("expected a Typhoeus::Response, got #{response.class}") unless response.is_a?(Response)

      @response_counter += 1
      # A block may return the response of a real request, which is not marked as a mock.
      response.mock = @from || true unless response.request
      response
    end

    private

    def call_block(block, request)
      response = block.call(request)
      response.nil? ? refuse("the response block returned nil") : response
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
