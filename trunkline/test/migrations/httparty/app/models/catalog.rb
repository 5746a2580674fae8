# frozen_string_literal: true

require "httparty"

class Catalog
  include HTTParty

  base_uri ENV.fetch("CATALOG_URL")
  default_timeout 1
  headers "Content-Type" => "application/json"

  NotFound = Class.new(StandardError)
  Slow = Class.new(StandardError)
  Unavailable = Class.new(StandardError)

  class << self
    # max_retries: 0, since Net::HTTP otherwise repeats a GET that timed out.
    def products(ids) = ids.map { |id| call { get("/products/#{id}.json", max_retries: 0) } }
    def reserve(id) = call { post("/reservations", body: { product: id }.to_json) }

    private

    def call
      response = yield
      raise NotFound if response.not_found?
      raise Unavailable if response.server_error?

      response.parsed_response
    rescue Net::OpenTimeout, Net::ReadTimeout
      raise Slow
    rescue SystemCallError
      raise Unavailable
    end
  end
end
