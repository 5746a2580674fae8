# frozen_string_literal: true

require_relative "../support/unit_test"
require "json"
require "trunkline/redaction"

# What is hidden of text that is shown.
class TestRedaction < UnitTest
  REDACTION = Trunkline::Redaction.new(%w[Tax-Number pin])

  def test_urls
    { "https://user:pass@api.test/a?x=1&api_key=S&b" => "https://[hidden]@api.test/a?x=1&api_key=[hidden]&b",
      "https://api.test/?%74oken=S;user[pin]=S&PIN=S#S" => "https://api.test/?%74oken=[hidden];user[pin]=[hidden]&PIN=[hidden]",
      "//u@api.test/?tax_number=S&tax=1" => "//[hidden]@api.test/?tax_number=[hidden]&tax=1",
      "/a/b@c?spin=1" => "/a/b@c?spin=1",
      "/?a=\xFF&token=S" => "/?a=\uFFFD&token=[hidden]",
      "" => "" }.each { |text, shown| assert_equal shown, REDACTION.url(text) }
  end

  def test_fields
    shown = REDACTION.fields([%w[Accept */*], %w[Cookie S], %w[Set-Cookie S], %w[X-Own S], %w[PIN S],
                              %w[Location https://a:b@c/?token=S], ["WWW-Authenticate", "Basic"]]).to_h
    assert_equal({ "Accept" => "*/*", "Cookie" => "[hidden]", "Set-Cookie" => "[hidden]", "X-Own" => "[hidden]",
                   "PIN" => "[hidden]", "Location" => "https://[hidden]@c/?token=[hidden]",
                   "WWW-Authenticate" => "Basic" }, shown)
    assert_equal [["ETag", "[hidden]"]], Trunkline::Redaction.new(["etag"]).fields([%w[ETag 1]])
  end

  def test_json
    { '{"a":1,"token":"S"}' => '{"a":1,"token":"[hidden]"}',
      '{"token" : {"a": ["S", "}"]}, "b": 2}' => '{"token" : "[hidden]", "b": 2}',
      '{"pin":1234}' => '{"pin":"[hidden]"}',
      '[{"tax-number": [1, {"x": 2}]}]' => '[{"tax-number": "[hidden]"}]',
      '{"tok\u0065n":"S\"S","a":"token: x"}' => '{"tok\u0065n":"[hidden]","a":"token: x"}',
      %({"token":true}\n{"b":"c"}\n) => %({"token":"[hidden]"}\n{"b":"c"}\n),
      "{\n  \"pin\":\n    \"S\"\n}" => "{\n  \"pin\":\n    \"[hidden]\"\n}",
      '["token", "a"]' => '["token", "a"]' }.each { |text, shown| assert_equal shown, REDACTION.json(text) }
  end

  def test_json_without_its_end_shows_no_part_of_a_value
    whole = '{"a":"x","token":{"b":["SECRET","SECR\"ET"]},"pin":"SECRET"}'
    (0..whole.size).each do |size|
      shown = REDACTION.json(whole[0, size])
      refute_includes shown, "SEC", shown
    end
  end

  def test_json_of_hostile_forms_takes_no_long_time
    ["[" * 65_536, '"' * 65_536, "\\" * 65_536, '{"token":' * 8_000, "\"#{"\\\"" * 32_000}"].each do |text|
      assert_kind_of String, REDACTION.json(text)
    end
  end

  def test_bodies_by_type
    assert_equal "a=1&password=[hidden]",
                 REDACTION.body("a=1&password=S", "application/x-www-form-urlencoded; charset=utf-8")
    assert_equal '{"pin":"[hidden]"}', REDACTION.body('{"pin":1}', "text/plain")
    assert_equal '<a><x:Password k="1">[hidden]</x:Password><b token="[hidden]"/><pin>[hidden]</pin>t</a>',
                 REDACTION.body(%(<a><x:Password k="1">S</x:Password><b token="S"/><pin><![CDATA[S]]></pin>t</a>),
                                "application/soap+xml")
    assert_equal '<a token="[hidden]', REDACTION.body('<a token="SECR', "text/xml")
    assert_equal "plain", REDACTION.body("plain", nil)
  end
end
