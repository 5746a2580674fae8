# frozen_string_literal: true

require "json"
require "uri"

module Bench
  # The call of a service, which the figures of real work measure: a POST with JSON, params and two header fields, and
  # the reading of the response's status, two of its header fields, and its JSON. All of these values are created anew
  # for each call.
  #
  # A peer that supports this call implements
  #   order(path, number)
  # which returns the parsed JSON; a peer that can make such calls concurrently also implements
  #   orders(path, numbers, concurrency) { |content| ... }
  module Orders
    module_function

    # @return [Hash] the request's content, which is 180 bytes of JSON
    def content(number)
      { order: number, customer: "customer-#{number}", currency: "EUR", express: false,
        items: [{ sku: "TL-100", quantity: 2, price: 1999 }, { sku: "TL-250", quantity: 1, price: 8999 }] }
    end

    # @return [Hash] the parameters of the URL's query
    def params(number) = { tenant: 7, trace: number, expand: "items" }

    # @return [Hash] header fields
    def headers(number) = { "X-Request-Id" => "request-#{number}", "X-Api-Version" => "2026-11-01" }

    # @param headers [Hash] the header fields of the call's request
    # @raise [RuntimeError] unless status and header fields are those of the expected response
    def check(status, type, request_id, headers)
      return if status == 200 && type.start_with?("application/json") && request_id == headers["X-Request-Id"]

      raise "answered #{status}, #{type.inspect}, #{request_id.inspect} to #{headers.inspect}"
    end

    # The part of a call that is not the HTTP client's work: the caller's literals, and generating and parsing JSON.
    # @param text [String] the body of a response
    def callers_part(number, text)
      call = { json: content(number), params: params(number), headers: headers(number) }
      JSON.generate(call[:json])
      JSON.parse(text)
    end
  end
end
