# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/attempt"
require "trunkline/request"
require "trunkline/error_message"
require "trunkline/url"

class TestErrorTree < UnitTest
  TREE = {
    ConnectionError: %i[ResolveError ConnectError TLSError CertificateError ConnectionClosed ForkedConnection],
    TLSError: %i[CertificateError],
    TimeoutError: %i[ResolveTimeout ConnectTimeout TLSTimeout WriteTimeout FirstByteTimeout ReadTimeout QueueTimeout
                     TotalTimeout],
    ProtocolError: %i[InvalidResponse HeadersTooLarge TruncatedBody DecodeError BodyTooLarge],
    RedirectError: %i[TooManyRedirects RedirectLoop UnsafeRedirect],
    StatusError: %i[ClientError ServerError],
    Error: %i[ConnectionError TimeoutError ProtocolError RedirectError StatusError BodyError ClosedError]
  }.freeze

  TREE.each do |parent, children|
    children.each do |child|
      define_method(:"test_#{child}_is_a_#{parent}") do
        assert_operator Trunkline.const_get(child), :<, Trunkline.const_get(parent)
      end
    end
  end

  def test_misuse_is_an_argument_error
    [Trunkline::InvalidRequest, Trunkline::MissingTimeout].each { |error| assert_operator error, :<, ArgumentError }
  end

  def test_all_facts_are_readable
    facts = { request: :request, phase: :read, elapsed: 1.5, attempt: 2, sent: :all, connection_age: 3.0,
              attempts: [:a] }
    error = Trunkline::ReadTimeout.new("words", facts)
    assert_equal "words", error.message
    facts.each { |name, value| assert_equal value, error.public_send(name) }
  end

  def test_an_error_can_be_raised_without_facts
    error = assert_raises(Trunkline::Error) { raise Trunkline::ConnectError, "by hand" }
    assert_equal ["by hand", nil, []], [error.message, error.sent, error.attempts]
  end

  def test_long_values_are_cut_in_messages
    assert_operator Trunkline::InvalidRequest.of("x", "y" * 10_000, "short").message.length, :<, 150
  end

  # ---- messages ----

  def sentence(class_name, **facts)
    request = Trunkline::Request.new("GET", Trunkline::URL.parse("https://api.test/x?token=geheim"), [])
    Trunkline::ErrorMessage.of(class_name, { request: request, label: "api.test:443", words: "it broke", detail: "",
                                             phase: :first_byte, limit: nil, attempt: 1, sent: :all,
                                             address: nil }.merge(facts))
  end

  def test_the_message_of_a_timeout_says_what_did_not_happen
    assert_equal "no answer from api.test:443 within 2.0 s of sending GET /x; the server has the whole request",
                 sentence(:FirstByteTimeout, limit: 2.0)
    assert_equal "no connection to api.test:443 within 0.25 s for GET /x; nothing of the request was sent",
                 sentence(:ConnectTimeout, limit: 0.25, sent: :none, phase: :connect)
    assert_equal "GET /x at api.test:443 did not end within 5.0 s (it was reading the answer); " \
                 "the server has the whole request", sentence(:TotalTimeout, limit: 5.0, phase: :read)
  end

  def test_every_timeout_has_its_own_message
    names = TREE[:TimeoutError]
    sentences = names.map { |name| sentence(name, limit: 0.123) }
    assert_equal names.size, sentences.uniq.size
    sentences.each { |text| assert_match(/api\.test:443.*0\.123 s|0\.123 s.*api\.test:443/, text) }
  end

  def test_the_message_names_request_address_phase_and_reason
    assert_equal "GET /x at api.test:443 (127.0.0.1:443) failed connecting: it broke (refused); " \
                 "nothing of the request was sent",
                 sentence(:ConnectError, phase: :connect, address: "127.0.0.1:443", detail: "refused", sent: :none)
  end

  def test_the_message_always_says_what_was_sent
    assert_match(/nothing of the request was sent\z/, sentence(:ConnectionClosed, sent: :none))
    assert_match(/the server may have part of the request\z/, sentence(:ConnectionClosed, sent: :partial))
    assert_match(/the server has the whole request\z/, sentence(:ConnectionClosed, sent: :all))
    assert_match(/not known what was sent\z/, sentence(:Error, sent: nil))
  end

  def test_the_message_names_a_later_attempt
    assert_match(/\(attempt 2\)\z/, sentence(:ConnectionClosed, attempt: 2))
  end

  def test_the_message_of_a_failure_without_a_request
    assert_equal "the request failed: it broke; it is not known what was sent",
                 Trunkline::ErrorMessage.of(:Error, { words: "it broke" })
  end

  def test_queries_are_in_no_sentence
    (TREE.values.flatten - [:StatusError]).each { |name| refute_includes sentence(name, limit: 1.0), "geheim" }
  end

  # ---- attempts ----

  def test_attempts_are_values
    rows = [[1, :first, "127.0.0.1:80", :none, "ConnectionClosed"], [2, :moved, "127.0.0.1:80", :all, nil]]
    first, second = Trunkline::Attempt.list(rows)
    assert_equal [1, :first, "127.0.0.1:80", :none, "ConnectionClosed"],
                 [first.number, first.reason, first.address, first.sent, first.error]
    assert_nil second.error
    assert_equal Trunkline::Attempt.list(rows), [first, second]
    assert_predicate first, :frozen?
  end
end
