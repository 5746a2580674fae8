# frozen_string_literal: true

require "spec_helper"
require "acceptance/webmock_shared"

# WebMock's shared examples for HTTP clients, run for single calls, streams, batches and futures.
module TrunklineSpecHelper
  Seen = Struct.new(:body, :headers, :status, :message, keyword_init: true)

  # @return [Seen] the response in the form that the examples expect
  def http_request(method, uri, options = {})
    skip "sends a Content-Length that its body has not, which is refused" if wrong_length?(options)

    uri = WebMock::Util::URI.heuristic_parse(uri).normalize.to_s
    given = { timeout: 10, basic: options[:basic_auth], headers: options[:headers], body: options[:body] }.compact
    response = perform(method.to_sym, uri, given)
    Seen.new(body: response.body, headers: WebMock::Util::Headers.normalize_headers(response.headers.to_h),
             status: response.status.to_s, message: response.reason)
  end

  # Until 3.18, the examples of headers have Content-Length: 8888, and no body.
  def wrong_length?(options)
    given = options[:headers]&.find { |name, _| name.casecmp?("content-length") }
    given && given.last != options[:body].to_s.bytesize.to_s
  end

  def client_timeout_exception_class = Trunkline::TimeoutError
  def connection_refused_exception_class = Trunkline::ConnectionError
  def connection_error_class = nil
  def http_library = :trunkline
end

{
  "a call" => ->(method, uri, given) { Trunkline.request(method, uri, given) },
  "a stream" => ->(method, uri, given) { Trunkline.request(method, uri, { stream: true, **given }) },
  "a batch" => lambda do |method, uri, given|
    result = Trunkline.new(timeout: 10).batch { |batch| batch.request(method, uri, given) }.first
    result.is_a?(Exception) ? raise(result) : result
  end,
  "a future" => ->(method, uri, given) { Trunkline.new(timeout: 10).async.request(method, uri, given).value! }
}.each do |way, perform|
  RSpec.describe way do
    include TrunklineSpecHelper

    define_method(:perform) { |*arguments| perform.call(*arguments) }

    include_examples "with WebMock", :no_url_auth
  end
end
