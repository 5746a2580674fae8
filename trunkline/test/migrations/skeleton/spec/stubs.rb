# frozen_string_literal: true

require "webmock/rspec"

module Stubs
  def allow_real_calls = WebMock.allow_net_connect!

  def stub_product(id, status: 200, body: "")
    WebMock.disable_net_connect!
    stub_request(:get, "#{UPSTREAM.url}/products/#{id}.json")
      .to_return(status: status, body: body, headers: { "Content-Type" => "application/json" })
  end
end
