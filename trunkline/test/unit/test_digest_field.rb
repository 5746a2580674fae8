# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/digest_field"

class TestDigestField < UnitTest
  # The examples of RFC 9530 B.1 and section 2.
  HELLO = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

  def test_a_formatted_field_is_parsed
    bytes = Digest::SHA256.digest(%({"hello": "world"}\n))
    assert_equal HELLO, Trunkline::DigestField.format("sha-256", bytes)
    assert_equal({ "sha-256" => bytes }, Trunkline::DigestField.parse(HELLO))
  end

  def test_lists
    parsed = Trunkline::DigestField.parse("sha-256=:YQ==:,sha-512=:Yg==: , unixsum=:Yw==:;a=1")
    assert_equal({ "sha-256" => "a", "sha-512" => "b", "unixsum" => "c" }, parsed)
    assert_equal %w[sha-512 b], Trunkline::DigestField.strongest(parsed)
    assert_nil Trunkline::DigestField.strongest({ "unixsum" => "c" })
    assert_equal({ "md5" => "b" }, Trunkline::DigestField.parse("md5=:YQ==:, md5=:Yg==:"), "the last one counts")
  end

  def test_a_malformed_field_is_ignored_as_a_whole
    ["sha-256=YQ==", "sha-256=:YQ==:,", "sha-256=:YQ==", "SHA-256=:YQ==:", "sha-256=:Y-==:", "sha-256=:YQ==: x",
     "sha-256=:YQ==:, sha-512", "=:YQ==:", "sha-256=:YQ==:;\"", ", sha-256=:YQ==:"].each do |field|
      assert_equal({}, Trunkline::DigestField.parse(field), field)
    end
    assert_equal({}, Trunkline::DigestField.parse(nil))
    assert_equal({}, Trunkline::DigestField.parse(""))
  end
end
