# frozen_string_literal: true

require_relative "../support/unit_test"
require "json"
require "trunkline/redaction"

# The parts of text that are hidden when it is shown or logged.
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

  def test_hostile_json_is_redacted_in_linear_time
    ["[" * 65_536, '"' * 65_536, "\\" * 65_536, '{"token":' * 8_000, "\"#{"\\\"" * 32_000}"].each do |text|
      assert_kind_of String, REDACTION.json(text)
    end
  end

  def test_json_in_strings
    inner = { "a" => 1, "token" => { "b" => "S" }, "c" => JSON.generate([{ "pin" => "S" }]) }
    shown = REDACTION.json(JSON.generate("payload" => JSON.generate(inner), "x" => "{}"))
    payload = JSON.parse(JSON.parse(shown)["payload"])
    assert_equal [1, "[hidden]"], payload.values_at("a", "token")
    assert_equal [{ "pin" => "[hidden]" }], JSON.parse(payload["c"])
    assert_equal "{}", JSON.parse(shown)["x"]
    assert_equal '{"a":"{ \"b\" : 1}"}', REDACTION.json('{"a":"{ \"b\" : 1}"}')
    assert_equal '"[hidden]"', REDACTION.json('"[\u00"')
    assert_equal "a=%7B%22token%22%3A%22%5Bhidden%5D%22%7D&b=[1]", REDACTION.form("a=%7B%22token%22%3A%22S%22%7D&b=[1]")
    whole = JSON.generate("payload" => JSON.generate(token: "SECRET\u0001", a: ["pin", { pin: ["SECRET"] }]))
    (0..whole.size).each { |size| refute_includes REDACTION.json(whole[0, size]), "SEC" }
  end

  def test_xml
    { '<a><password><b c="1">S</b><password>S</password>S</password>t</a>' =>
        "<a><password>[hidden]</password>t</a>",
      "<u pin='S' a='1'/><token/><pin></pin>" => "<u pin='[hidden]' a='1'/><token/><pin></pin>",
      "<!-- <pin> --><a b=\"<pin>\">t</a><x:pin>S" => "<!-- <pin> --><a b=\"<pin>\">t</a><x:pin>[hidden]",
      "a < b <pin>S</pin" => "a < b <pin>[hidden]</pin" }.each { |text, shown| assert_equal shown, REDACTION.xml(text) }
    whole = '<a><token x="1" pin="SECRET"><b>SECRET</b><![CDATA[SECRET]]></token><b pin=\'SECRET\'/></a>'
    (0..whole.size).each { |size| refute_includes REDACTION.xml(whole[0, size]), "SEC" }
  end

  def test_hostile_xml_is_redacted_in_linear_time
    ["<a ", "<", "<pin>", '<a "', "<a b='", "<!--", "<a <a \""].each do |text|
      assert_kind_of String, REDACTION.xml(text * (65_536 / text.size))
    end
  end

  def test_parts_of_a_multipart_body
    part = lambda do |name, value, more = ""|
      "--x\r\nContent-Disposition: form-data; name=#{name}\r\n#{more}\r\n#{value}\r\n"
    end
    json = "Content-Type: application/json\r\n"
    whole = lambda do |secret|
      [part['"user[pin]"', secret], part["a", "1"], part['"token"; filename="t"', secret], "--x--\r\n"].join
    end
    type = 'multipart/form-data; boundary="x"'
    assert_equal whole["[hidden]"], REDACTION.body(whole["S\r\nS"], type)
    assert_equal part["a", '{"pin":"[hidden]"}', json], REDACTION.body(part["a", '{"pin":1}', json], type)
    assert_equal whole["[hidden]"], REDACTION.body(whole["S"], "multipart/form-data")
    (0..whole["SECRET"].size).each { |size| refute_includes REDACTION.body(whole["SECRET"][0, size], type), "SEC" }
  end

  def test_bodies_by_type
    assert_equal "a=1&password=[hidden]",
                 REDACTION.body("a=1&password=S", "application/x-www-form-urlencoded; charset=utf-8")
    assert_equal '{"pin":"[hidden]"}', REDACTION.body('{"pin":1}', "text/plain")
    assert_equal '<a><x:Password k="1">[hidden]</x:Password><b token="[hidden]"/><pin>[hidden]</pin>t</a>',
                 REDACTION.body(%(<a><x:Password k="1">S</x:Password><b token="S"/><pin><![CDATA[S]]></pin>t</a>),
                                "application/soap+xml")
    assert_equal %(data: {"token":"[hidden]"}\n\n), REDACTION.body(%(data: {"token":"S"}\n\n), "text/event-stream")
    assert_equal "\uFEFF{\"token\":\"[hidden]\"}", REDACTION.body("\uFEFF{\"token\":\"S\"}", nil)
    assert_equal "a=1&pin=[hidden]", REDACTION.body("a=1&pin=S", nil)
    assert_equal "a pin=1", REDACTION.body("a pin=1", nil)
    assert_equal '<a token="[hidden]', REDACTION.body('<a token="SECR', "text/xml")
    assert_equal "plain", REDACTION.body("plain", nil)
  end

  # A server's Location may be such a text. Reading each part again would take minutes.
  def test_a_long_text_without_values_takes_no_long_time
    text = "a" * 300_000
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_equal "/?#{text}", REDACTION.url("/?#{text}")
    assert_equal "#{text}&token=[hidden]", REDACTION.form("#{text}&token=S")
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 5
  end
end
