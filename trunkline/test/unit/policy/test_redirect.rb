# frozen_string_literal: true

require_relative "../../support/unit_test"
require "trunkline/policy/redirect"
require "trunkline/headers"

class TestRedirectRules < UnitTest
  Redirect = Trunkline::Policy::Redirect

  # RFC 9110 15.4: status => { method => method of the redirected request }
  KEPT = %w[GET HEAD PUT DELETE PATCH OPTIONS].to_h { |method| [method, method] }.freeze
  METHODS = {
    301 => KEPT.merge("POST" => "GET"),
    302 => KEPT.merge("POST" => "GET"),
    303 => KEPT.transform_values { "GET" }.merge("POST" => "GET", "HEAD" => "HEAD"),
    307 => KEPT.merge("POST" => "POST"),
    308 => KEPT.merge("POST" => "POST")
  }.freeze

  METHODS.each do |status, methods|
    methods.each do |method, following|
      define_method(:"test_#{status}_makes_#{following}_of_#{method}") do
        assert_equal following, Redirect.new(1, nil).next_method(status, method)
      end
    end
  end

  FIELDS = [%w[Host a.test], %w[User-Agent x], %w[Authorization secret], %w[Cookie secret], %w[X-Api-Key secret],
            %w[Proxy-Authorization secret], %w[X-Own secret], %w[Content-Type text/plain], %w[Content-Language de],
            %w[Content-Length 3], %w[Transfer-Encoding chunked], %w[Expect 100-continue]].freeze

  def names(same_origin:, same_method:)
    credentials = Trunkline::Headers::CREDENTIALS + %w[x-own]
    Redirect.next_fields(FIELDS, same_origin: same_origin, same_method: same_method) do |name|
      credentials.include?(name.downcase)
    end.map(&:first)
  end

  def test_computed_headers_are_not_copied
    refute_includes names(same_origin: true, same_method: true), "Content-Length"
    refute_includes names(same_origin: true, same_method: true), "Transfer-Encoding"
    refute_includes names(same_origin: true, same_method: true), "Expect"
  end

  def test_all_other_headers_are_copied_to_the_same_origin
    assert_equal %w[Host User-Agent Authorization Cookie X-Api-Key Proxy-Authorization X-Own Content-Type
                    Content-Language], names(same_origin: true, same_method: true)
  end

  def test_credentials_and_host_stay_with_their_origin
    assert_equal %w[User-Agent Content-Type Content-Language], names(same_origin: false, same_method: true)
  end

  def test_fields_of_the_body_are_dropped_with_it
    assert_equal %w[Host User-Agent Authorization Cookie X-Api-Key Proxy-Authorization X-Own],
                 names(same_origin: true, same_method: false)
    assert_equal %w[User-Agent], names(same_origin: false, same_method: false)
  end
end
