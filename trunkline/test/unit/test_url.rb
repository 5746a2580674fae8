# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/url"

class TestURL < UnitTest
  URL = Trunkline::URL

  NORMALISED = {
    "http://a.test" => "http://a.test/",
    "HTTP://A.Test:80/x" => "http://a.test/x",
    "https://a.test:443" => "https://a.test/",
    "https://a.test:80/" => "https://a.test:80/",
    "http://a.test:/x" => "http://a.test/x",
    "http://a.test?x=1" => "http://a.test/?x=1",
    "http://a.test/x#fragment" => "http://a.test/x",
    "http://a.test#fragment" => "http://a.test/",
    "http://[::1]:8080/x" => "http://[::1]:8080/x",
    "http://[2001:DB8::1]/" => "http://[2001:db8::1]/",
    "http://127.0.0.1:3000" => "http://127.0.0.1:3000/",
    "http://under_score.test./" => "http://under_score.test./",
    "https://bücher.test/" => "https://xn--bcher-kva.test/",
    "https://BÜCHER.test/" => "https://xn--bcher-kva.test/",
    "http://a.test/ä b" => "http://a.test/%C3%A4%20b",
    "http://a.test/%c3%A4?q=%20" => "http://a.test/%c3%A4?q=%20",
    "http://a.test/100%" => "http://a.test/100%25",
    "http://a.test/%zz" => "http://a.test/%25zz",
    "http://a.test/?f[a]=1&b=<\">" => "http://a.test/?f[a]=1&b=%3C%22%3E",
    "http://a.test//x//" => "http://a.test//x//",
    "http://u:p@a.test/x" => "http://a.test/x"
  }.freeze

  NORMALISED.each do |given, expected|
    define_method(:"test_#{given.inspect}_is_normalised") { assert_equal expected, URL.parse(given).to_s }
  end

  REFUSED = [
    "", "/x", "a.test", "ftp://a.test/", "file:///etc/passwd", "javascript:alert(1)", "http:/a.test", "http://",
    "http:///x", "http://a b/", "http://a..b/", "http://-a.test/", "http://a-.test/", "http://#{"a" * 64}.test/",
    "http://#{(["a" * 50] * 6).join(".")}/", "http://a.test:0/", "http://a.test:65536/", "http://a.test:x/",
    "http://a.test:80x/", "http://a.test:-1/", "http://[::1/", "http://[::1%25eth0]/", "http://[:::]/", "http://::1/",
    "http://[127.0.0.1]/", "http://256.0.0.1/", "http://1.2.3/", "http://0x7f.1/", "http://2130706433/",
    "http://a.test/\r\nX: 1", "http://a.test/\0", "http://a.test/\t", "\nhttp://a.test/", "http://a\r.test/",
    "http://a@b@c/", "http://a\\@b.test/", "http://a%2eb/", "http://<b>.test/", "http://xn--/",
    "http://a.test/\xff", "http://☃..test/"
  ].freeze

  REFUSED.each do |given|
    define_method(:"test_#{given.b.inspect}_is_refused") { assert_refused("url") { URL.parse(given) } }
  end

  def test_other_objects_are_refused
    [nil, 5, :x, ["http://a.test"], {}].each { |given| assert_refused("url", "String or URI") { URL.parse(given) } }
  end

  def test_a_uri_and_a_url_are_accepted
    assert_equal "https://a.test/x?y=1", URL.parse(URI("https://a.test/x?y=1#z")).to_s
    url = URL.parse("http://a.test/")
    assert_same url, URL.parse(url)
  end

  def test_other_encodings_become_utf_8
    assert_equal "http://a.test/%C3%A4", URL.parse("http://a.test/ä".encode("ISO-8859-1")).to_s
    assert_equal "http://a.test/%E4", URL.parse("http://a.test/\xE4".b).to_s
  end

  def test_parts_of_a_url
    url = URL.parse("https://User:p%40ss@[::1]:8443/a/b?c=d")
    assert_equal ["https", "::1", 8443, "/a/b", "c=d"], [url.scheme, url.host, url.port, url.path, url.query]
    assert_equal %w[User p@ss], url.userinfo
    assert_equal "[::1]:8443", url.authority
    assert_equal "https://[::1]:8443", url.origin
    assert_equal "/a/b?c=d", url.target
    assert_predicate url, :tls?
    assert_predicate url, :frozen?
  end

  def test_the_label_always_has_a_port
    assert_equal "a.test:443", URL.parse("https://a.test").label
    assert_equal "a.test:81", URL.parse("http://a.test:81").label
    assert_equal "[::1]:80", URL.parse("http://[::1]").label
  end

  def test_userinfo_without_password
    assert_equal ["user", ""], URL.parse("http://user@a.test/").userinfo
    assert_nil URL.parse("http://@a.test/").userinfo
  end

  def test_inspect_shows_neither_userinfo_nor_query
    url = URL.parse("http://user:geheim@a.test/x?token=geheim")
    refute_includes "#{url.inspect} #{url.shown} #{url.without_userinfo}", "user"
    refute_includes "#{url.inspect} #{url.shown}", "geheim"
  end

  def test_credentials_are_in_no_refusal
    ["http://user:geheim@a b/", "ftp://user:geheim@a.test/", "http://user:geheim@a.test/\n", "http://user:ge\\heim@a/",
     "http://user:geheim/x@a.test/", "http://user:geheim?x@a.test/", "//user:geheim@a.test/"].each do |given|
      message = assert_refused("url") { URL.resolve(given, URL.parse("http://base.test")) }.message
      refute_match(/geheim|ge\\+heim/, message, given)
    end
  end

  RESOLVED = {
    nil => "https://api.test/v1?key=1", "" => "https://api.test/v1?key=1",
    "users" => "https://api.test/v1/users", "/users" => "https://api.test/users",
    "users?page=2" => "https://api.test/v1/users?page=2", "?page=2" => "https://api.test/v1?page=2",
    "../v2/users" => "https://api.test/v2/users", "/../../x" => "https://api.test/x",
    "items:batch" => "https://api.test/v1/items:batch", "http://other.test/x" => "http://other.test/x"
  }.freeze

  RESOLVED.each do |given, expected|
    define_method(:"test_#{given.inspect}_below_a_base") do
      assert_equal expected, URL.resolve(given, URL.parse("https://api.test/v1?key=1")).to_s
    end
  end

  def test_a_path_never_names_another_host
    base = URL.parse("https://api.test/v1")
    assert_refused("one leading /") { URL.resolve("//evil.test/x", base) }
    assert_refused("http:// or https://") { URL.resolve("ftp://evil.test/x", base) }
  end

  # RFC 3986 5.4: the references that stay within http.
  FOLLOWED = {
    "g" => "http://a/b/c/g", "./g" => "http://a/b/c/g", "g/" => "http://a/b/c/g/", "/g" => "http://a/g",
    "//g" => "http://g/", "?y" => "http://a/b/c/d;p?y", "g?y" => "http://a/b/c/g?y", "#s" => "http://a/b/c/d;p?q",
    "g#s" => "http://a/b/c/g", ";x" => "http://a/b/c/;x", "g;x?y#s" => "http://a/b/c/g;x?y",
    "" => "http://a/b/c/d;p?q", "." => "http://a/b/c/", "./" => "http://a/b/c/", ".." => "http://a/b/",
    "../g" => "http://a/b/g", "../.." => "http://a/", "../../g" => "http://a/g", "../../../g" => "http://a/g",
    "../../../../g" => "http://a/g", "/./g" => "http://a/g", "/../g" => "http://a/g", "g." => "http://a/b/c/g.",
    "..g" => "http://a/b/c/..g", "./../g" => "http://a/b/g", "./g/." => "http://a/b/c/g/", "g/./h" => "http://a/b/c/g/h",
    "g/../h" => "http://a/b/c/h", "g;x=1/./y" => "http://a/b/c/g;x=1/y", "g;x=1/../y" => "http://a/b/c/y",
    "g?y/../x" => "http://a/b/c/g?y/../x"
  }.freeze

  FOLLOWED.each do |reference, expected|
    define_method(:"test_#{reference.inspect}_is_followed") do
      assert_equal expected, URL.parse("http://u:p@a/b/c/d;p?q").follow(reference).to_s
    end
  end

  def test_a_reference_brings_no_userinfo_along
    url = URL.parse("http://u:p@a.test/")
    assert_nil url.follow("http://x:y@b.test/").userinfo
    assert_nil url.follow("/z").userinfo
  end

  def test_a_reference_to_another_scheme_is_refused
    ["ftp://x/", "mailto:a@b.test", "javascript:alert(1)", "file:///x", "data:,x"].each do |reference|
      assert_refused("http:// or https://") { URL.parse("http://a.test/").follow(reference) }
    end
  end

  def test_equal_urls
    assert_equal URL.parse("http://a.test"), URL.parse("HTTP://A.TEST:80/")
    assert_equal 1, [URL.parse("http://a.test"), URL.parse("http://a.test/")].uniq.size
    refute_equal URL.parse("http://a.test"), URL.parse("https://a.test")
  end
end
