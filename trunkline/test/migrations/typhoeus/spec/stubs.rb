# frozen_string_literal: true

module Stubs
  def self.included(specs) = specs.after { Typhoeus::Expectation.clear }

  def allow_real_calls = Typhoeus::Config.block_connection = false

  def stub_product(id, status: 200, body: "")
    Typhoeus::Config.block_connection = true
    Typhoeus.stub("#{UPSTREAM.url}/products/#{id}.json").and_return(Typhoeus::Response.new(code: status, body: body))
  end
end
