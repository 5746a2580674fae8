# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/links"
require "trunkline/url"

class TestLinks < UnitTest
  BASE = Trunkline::URL.parse("https://api.test/users/page?page=2")

  def links(text) = Trunkline::Links.parse(text, BASE)

  def test_pages
    found = links('<https://api.test/users?page=3>; rel="next", <https://api.test/users?page=9>; rel="last"')
    assert_equal "https://api.test/users?page=3", found["next"]
    assert_equal "https://api.test/users?page=9", found[:LAST]
    assert_nil found["prev"]
    assert_equal 2, found.count
  end

  def test_each_rule_of_rfc_8288
    { "</b>;rel=next" => ["https://api.test/b", %w[next], {}],
      "<c?d=1>; rel=\"Next  first\"" => ["https://api.test/users/c?d=1", %w[next first], {}],
      "<//other.test/x>;rel=a" => ["https://other.test/x", %w[a], {}],
      "<?page=3>;rel=a" => ["https://api.test/users/page?page=3", %w[a], {}],
      "<b> ; REL = a ; Title=\"x, \\\"y\\\"; z\"" => ["https://api.test/users/b", %w[a], { "title" => 'x, "y"; z' }],
      "<b>; rel=a; rel=b" => ["https://api.test/users/b", %w[a], {}],
      "<b>; title=plain; title*=UTF-8'en'%e2%82%ac" => ["https://api.test/users/b", [], { "title" => "€" }],
      "<b>; title*=iso-8859-1'en'%e9" => ["https://api.test/users/b", [], {}],
      "<b>; ; rel=a;" => ["https://api.test/users/b", %w[a], {}],
      "<b>; crossorigin" => ["https://api.test/users/b", [], { "crossorigin" => "" }],
      "<mailto:a@b.test>; rel=me" => ["mailto:a@b.test", %w[me], {}] }.each do |text, (url, rels, params)|
      link = links(text).first
      assert_equal [url, rels, params], [link.url, link.rels, link.params.except("rel")], text
    end
  end

  def test_a_link_with_an_anchor_is_of_another_resource
    found = links('<a>; rel=next; anchor="#other", <b>; rel=next')
    assert_equal "https://api.test/users/b", found["next"]
    assert_equal "#other", found.first.params["anchor"]
  end

  def test_inspect_hides_query_and_userinfo
    shown = links('</a?token=sesame>; rel="next last", <http://u:sesame@b.test/?q>; rel=self, <mailto:x>').inspect
    assert_match(%r{ next last: http.*/a\?\[hidden\], self: http://b\.test/\?\[hidden\], : mailto:x>\z}, shown)
    refute_includes links("</a?sesame>").first.inspect, "sesame"
  end

  def test_empty_and_malformed_fields
    [nil, "", ",, ,", "next", "<a"].each { |text| assert_empty links(text).to_a, text.inspect }
    assert_equal 1, links("<a>; rel=x oops, <b>; rel=y").count
  end
end
