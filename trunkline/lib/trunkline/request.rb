# frozen_string_literal: true

require_relative "headers"
require_relative "redacted"

module Trunkline
  # A request as it is sent: frozen, complete with the fields that the client adds.
  class Request
    include Redacted

    # @return [String] "GET"
    attr_reader :method
    # @return [URL]
    attr_reader :uri
    # @return [Object, nil] what the caller gave as the body: a String, IO, Enumerable, callable or Multipart
    attr_reader :body

    # @param method [String]
    # @param uri [URL]
    # @param fields [Array<String>] name, value, name, value...
    # @param body [Object, nil]
    def initialize(method, uri, fields, body = nil)
      @method = method
      @uri = uri
      @fields = fields
      @body = body
      freeze
    end

    # @return [String] without userinfo and fragment
    def url
      uri.to_s
    end

    # @return [Headers] every field that is sent, Host first
    def headers
      Headers.new(@fields.each_slice(2).to_a)
    end

    # Header fields and the query are not shown: they may be credentials.
    def inspect
      "#<#{self.class} #{method} #{uri.shown}>"
    end

    # Marshal writes no body, no query, and of header fields what Headers#inspect shows.
    # @return [Array]
    def marshal_dump
      [method, uri, Headers.redact(@fields.each_slice(2)).flatten]
    end

    def marshal_load(parts)
      initialize(*parts)
    end
  end
end
