# frozen_string_literal: true

require "json"
require "uri"

module Bench
  # The call of a service that the figures of real work are about: a POST with JSON, params and two header fields of its
  # own, of whose answer the status, two fields and the JSON are read. All of it is made anew for each call.
  #
  # A peer that can make it has
  #   order(path, number)
  # which returns the parsed JSON; and one that can have many in flight
  #   orders(path, numbers, at_once) { |content| ... }
  module Orders
    module_function

    # @return [Hash] to be sent as JSON, 180 bytes
    def content(number)
      { order: number, customer: "customer-#{number}", currency: "EUR", express: false,
        items: [{ sku: "TL-100", quantity: 2, price: 1999 }, { sku: "TL-250", quantity: 1, price: 8999 }] }
    end

    # @return [Hash] for the URL's query
    def params(number) = { tenant: 7, trace: number, expand: "items" }

    # @return [Hash] header fields
    def headers(number) = { "X-Request-Id" => "request-#{number}", "X-Api-Version" => "2026-11-01" }

    # @param headers [Hash] those of the call
    # @raise [RuntimeError] unless status and fields are what the call must be answered with
    def check(status, type, request_id, headers)
      return if status == 200 && type.start_with?("application/json") && request_id == headers["X-Request-Id"]

      raise "answered #{status}, #{type.inspect}, #{request_id.inspect} to #{headers.inspect}"
    end

    # What of a call is not the HTTP client's work: the caller's literals, and JSON on both sides.
    # @param text [String] the body of an answer
    def callers_part(number, text)
      call = { json: content(number), params: params(number), headers: headers(number) }
      JSON.generate(call[:json])
      JSON.parse(text)
    end
  end
end
