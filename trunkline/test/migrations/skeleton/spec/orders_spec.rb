# frozen_string_literal: true

require_relative "spec_helper"
require_relative "stubs"

RSpec.describe "orders" do
  include Stubs

  context "with the catalog" do
    before { allow_real_calls }

    it "shows the names of an order's products" do
      get "/orders/1"
      expect(response.parsed_body).to eq("id" => 1, "names" => (1..4).map { |id| "product #{id}" })
    end

    it "reserves a product, once" do
      expect { post "/orders", params: { product: 7 } }.to change { UPSTREAM.requests.size }.by(1)
      expect([response.status, response.parsed_body]).to eq([201, { "reserved" => 7 }])
      expect(UPSTREAM.requests.last).to eq(["POST", "/reservations", '{"product":7}'])
    end

    it "says that a product is unknown" do
      get "/orders/404"
      expect(response.status).to eq(404)
    end

    it "does not wait for a slow catalog" do
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      get "/orders/999"
      expect(response.status).to eq(504)
      expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).to be < 2.5
    end
  end

  context "with stubs in its place" do
    it "shows what they answer" do
      (1..4).each { |id| stub_product(id, body: { name: "stubbed #{id}" }.to_json) }
      get "/orders/1"
      expect(response.parsed_body["names"]).to eq((1..4).map { |id| "stubbed #{id}" })
    end

    it "says that the catalog fails" do
      stub_product(1, status: 500)
      (2..4).each { |id| stub_product(id, body: "{}") }
      get "/orders/1"
      expect(response.status).to eq(502)
    end
  end
end
