# frozen_string_literal: true

module Catalog
  NotFound = Class.new(StandardError)
  Slow = Class.new(StandardError)
  Unavailable = Class.new(StandardError)

  module_function

  def products(ids) = ids.map { |id| call { CATALOG.get("products/#{id}.json") } }
  def reserve(id) = call { CATALOG.post("reservations", { product: id }) }

  def call
    yield.body
  rescue Faraday::ResourceNotFound
    raise NotFound
  rescue Faraday::TimeoutError
    raise Slow
  rescue Faraday::ServerError, Faraday::ConnectionFailed
    raise Unavailable
  end
end
