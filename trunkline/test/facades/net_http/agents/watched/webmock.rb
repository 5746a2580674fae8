# frozen_string_literal: true

require "webmock"
require "webmock/request_registry"

WebMock.enable!
WebMock.allow_net_connect!
WebMock.after_request { |signature, response| Watched.requests << [signature.to_s, response.status, response.body] }
WebMock.after_request(real_requests_only: true) { |signature, _| Watched.real << signature.to_s }

# Records the requests that WebMock reports, its counts and its stubbed responses; one URL is stubbed.
module Watched
  @requests = []
  @real = []
  singleton_class.attr_reader :requests, :real

  def self.watch
    [requests, real].each(&:clear)
    WebMock.reset!
    WebMock.stub_request(:any, %r{/missing\z}).to_return(status: [404, "Not here"], body: "stubbed")
    yield
    counted = WebMock::RequestRegistry.instance.requested_signatures.hash.map { |key, count| [key.to_s, count] }
    { requests: requests.dup, real: real.dup, counted: counted }
  end
end
