# frozen_string_literal: true

module Catalog
  NotFound = Class.new(StandardError)
  Slow = Class.new(StandardError)
  Unavailable = Class.new(StandardError)

  URL = ENV.fetch("CATALOG_URL")
  OPTIONS = { timeout: 1, headers: { "Content-Type" => "application/json" } }.freeze

  module_function

  # Requests all products concurrently.
  def products(ids)
    hydra = Typhoeus::Hydra.new(max_concurrency: 4)
    requests = ids.map { |id| Typhoeus::Request.new("#{URL}/products/#{id}.json", OPTIONS) }
    requests.each { |request| hydra.queue(request) }
    hydra.run
    requests.map { |request| read(request.response) }
  end

  def reserve(id) = read(Typhoeus.post("#{URL}/reservations", body: { product: id }.to_json, **OPTIONS))

  def read(response)
    raise Slow if response.timed_out?
    raise NotFound if response.code == 404
    raise Unavailable unless response.success?

    JSON.parse(response.body)
  end
end
