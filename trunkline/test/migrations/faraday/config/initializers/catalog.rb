# frozen_string_literal: true

require "faraday"
require "faraday/net_http"

CATALOG = Faraday.new(ENV.fetch("CATALOG_URL"), request: { timeout: 1 }) do |faraday|
  faraday.request :json
  faraday.response :raise_error
  faraday.response :json
  faraday.adapter :net_http
end
