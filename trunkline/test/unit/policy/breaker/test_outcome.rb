# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

class TestOutcome < UnitTest
  def failure?(result) = Trunkline::Policy::Breaker::Outcome.failure?(result)

  def response_with(status)
    Trunkline::Engine.response(nil, "HTTP/1.1 #{status} X\r\nContent-Length: 0\r\n\r\n", "")
  end

  def test_statuses
    failures = [500, 502, 503, 504, 507, 599]
    (failures + [200, 304, 400, 404, 429, 499, 501, 505]).each do |status|
      assert_equal failures.include?(status), failure?(response_with(status)), status
    end
  end

  ERRORS = {
    ResolveError: true, ConnectError: true, TLSError: true, ProxyError: true, ConnectionClosed: true,
    ResolveTimeout: true, ConnectTimeout: true, TLSTimeout: true, WriteTimeout: true, FirstByteTimeout: true,
    ReadTimeout: true, TotalTimeout: true, TruncatedBody: true, StreamReset: true,
    CertificateError: false, ForkedConnection: false, DeadlineExceeded: false, Cancelled: false, ClosedError: false,
    BodyError: false, InvalidResponse: false, HeadersTooLarge: false, DecodeError: false, BodyTooLarge: false,
    AuthError: false, TooManyRedirects: false, BreakerOpen: false, RactorError: false
  }.freeze

  def test_each_class_of_errors
    ERRORS.each do |name, expected|
      assert_equal expected, failure?(Trunkline.const_get(name).new("x", phase: :read)), name
    end
  end

  def test_local_errors_are_no_failures_of_the_server
    refute failure?(Trunkline::QueueTimeout.new("x", phase: :queue))
    refute failure?(Trunkline::TotalTimeout.new("x", phase: :queue))
    refute failure?(Trunkline::ConnectError.new("x", phase: :connect, errno: Errno::EMFILE::Errno))
    assert failure?(Trunkline::ConnectError.new("x", phase: :connect, errno: Errno::ECONNREFUSED::Errno))
  end
end
