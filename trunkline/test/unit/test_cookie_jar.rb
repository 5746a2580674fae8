# frozen_string_literal: true

require_relative "../support/unit_test"
require "tmpdir"
require "trunkline/cookie_jar"

class TestCookieJar < UnitTest
  # [description, URL of the response, Set-Cookie, { URL => the Cookie field sent to it; nil: none }]
  RULES = [
    ["a host's own cookie", "https://a.api.test/x/y", "n=v",
     { "https://a.api.test/x/z" => "n=v", "https://a.api.test/x" => "n=v", "https://a.api.test/xy" => nil,
       "https://a.api.test/" => nil, "https://api.test/x/" => nil, "https://b.a.api.test/x/" => nil,
       "http://a.api.test:8080/x/" => "n=v" }],
    ["a domain's", "https://a.api.test/", "n=v; Domain=.API.test",
     { "https://api.test/" => "n=v", "https://b.a.api.test/any" => "n=v", "https://xapi.test/" => nil }],
    ["a domain below the host's", "https://api.test/", "n=v; Domain=a.api.test", { "https://a.api.test/" => nil }],
    ["another domain", "https://api.test/", "n=v; Domain=other.test", { "https://other.test/" => nil }],
    ["the end of a name", "https://xapi.test/", "n=v; Domain=api.test", { "https://api.test/" => nil }],
    ["an empty domain", "https://api.test/", "n=v; Domain=",
     { "https://api.test/" => "n=v", "https://a.api.test/" => nil }],
    ["a domain with a dot at its end", "https://api.test/", "n=v; Domain=api.test.", { "https://api.test/" => nil }],
    ["a suffix of the list", "https://shop.co.uk/", "n=v; Domain=co.uk", { "https://shop.co.uk/" => nil }],
    ["a private suffix", "https://me.github.io/", "n=v; Domain=github.io", { "https://you.github.io/" => nil }],
    ["a suffix's own", "https://github.io/", "n=v; Domain=github.io",
     { "https://github.io/" => "n=v", "https://me.github.io/" => nil }],
    ["a suffix beyond ASCII", "https://www.xn--55qx5d.cn/", "n=v; Domain=xn--55qx5d.cn",
     { "https://www.xn--55qx5d.cn/" => nil }],
    ["a name beyond ASCII", "https://www.b\u00fccher.test/", "n=v; Domain=b\u00fccher.test",
     { "https://xn--bcher-kva.test/" => "n=v" }],
    ["a name of one label", "http://localhost/", "n=v; Domain=localhost", { "http://localhost:3000/" => "n=v" }],
    ["an address", "http://127.0.0.1/", "n=v; Domain=0.0.1", { "http://127.0.0.1/" => nil }],
    ["an address as itself", "http://127.0.0.1/", "n=v; Domain=127.0.0.1", { "http://127.0.0.1:81/" => "n=v" }],
    ["an IPv6 address", "http://[::1]/", "n=v", { "http://[0:0:0:0:0:0:0:1]:81/" => "n=v", "http://[::2]/" => nil }],
    ["a dot at the end", "http://api.test./", "n=v", { "http://api.test/" => "n=v" }],
    ["a path", "https://api.test/", "n=v; Path=/a", { "https://api.test/a" => "n=v", "https://api.test/a/b" => "n=v",
                                                      "https://api.test/ab" => nil, "https://api.test/" => nil }],
    ["a path that is none", "https://api.test/a/b", "n=v; Path=x",
     { "https://api.test/a/" => "n=v", "https://api.test/" => nil }],
    ["Secure", "https://api.test/", "n=v; secure", { "https://api.test/" => "n=v", "http://api.test/" => nil }],
    ["Secure in clear", "http://api.test/", "n=v; Secure", { "https://api.test/" => nil }],
    ["SameSite, which is ignored", "http://api.test/", "n=v; SameSite=Strict", { "http://api.test/" => "n=v" }],
    ["__Secure- without Secure", "https://api.test/", "__Secure-n=v", { "https://api.test/" => nil }],
    ["__Secure-", "https://api.test/", "__Secure-n=v; Secure", { "https://api.test/" => "__Secure-n=v" }],
    ["__Host- with a domain", "https://api.test/", "__host-n=v; Secure; Path=/; Domain=api.test",
     { "https://api.test/" => nil }],
    ["__Host- below a path", "https://api.test/", "__Host-n=v; Secure; Path=/a", { "https://api.test/a" => nil }],
    ["__Host-", "https://api.test/", "__Host-n=v; Secure; Path=/", { "https://api.test/" => "__Host-n=v" }],
    ["a value as it stands", "https://api.test/", " n = \"a, b\"=c ; Path=/",
     { "https://api.test/" => "n=\"a, b\"=c" }],
    ["an empty value", "https://api.test/", "n=", { "https://api.test/" => "n=" }],
    ["no name", "https://api.test/", "=v", { "https://api.test/" => nil }],
    ["no equals sign", "https://api.test/", "v", { "https://api.test/" => nil }],
    ["a control character", "https://api.test/", "n=v\x01", { "https://api.test/" => nil }],
    ["bytes beyond ASCII", "https://api.test/", "n=\xFF\xC3\xA9", { "https://api.test/" => "n=\xFF\xC3\xA9".b }],
    ["what is too long", "https://api.test/", "n=#{"v" * 4096}", { "https://api.test/" => nil }],
    ["what is just not", "https://api.test/", "n=#{"v" * 4095}", { "https://api.test/" => "n=#{"v" * 4095}" }],
    ["the last of two attributes", "https://api.test/", "n=v; Path=/a; Path=/b",
     { "https://api.test/b" => "n=v", "https://api.test/a" => nil }],
    ["Max-Age=0", "https://api.test/", "n=v; Max-Age=0", { "https://api.test/" => nil }],
    ["Max-Age before Expires", "https://api.test/", "n=v; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
     { "https://api.test/" => "n=v" }],
    ["a time that is past", "https://api.test/", "n=v; Expires=Thu, 01-Jan-70 00:00:01 GMT",
     { "https://api.test/" => nil }],
    ["a time that is none", "https://api.test/", "n=v; Expires=soon; Max-Age=later", { "https://api.test/" => "n=v" }]
  ].freeze

  RULES.each do |description, url, field, sent|
    define_method(:"test_#{description.gsub(/\W+/, "_")}") do
      jar = Trunkline::CookieJar.new
      jar.set(url, field)
      sent.each do |other, expected|
        expected ? assert_equal(expected.b, jar.header(other)&.b, other) : assert_nil(jar.header(other), other)
      end
    end
  end

  def jar(*fields, url: "https://api.test/a/b")
    Trunkline::CookieJar.new.tap { |jar| fields.each { |field| jar.set(url, field) } }
  end

  def test_longer_paths_and_older_cookies_come_first
    kept = jar("one=1; Path=/", "two=2", "three=3; Path=/a/b", "four=4; Path=/", "one=5; Path=/")
    assert_equal "three=3; two=2; one=5; four=4", kept.header("https://api.test/a/b")
  end

  def test_a_cookie_is_replaced_and_removed
    kept = jar("n=1", "n=2", "n=3; Path=/")
    assert_equal "n=2; n=3", kept.header("https://api.test/a/")
    assert_nil kept.set("https://api.test/a/b", "n=; Max-Age=-1")
    assert_equal 1, kept.size
    assert_empty kept.clear
  end

  def test_expiry_is_at_most_400_days_away
    cookie = jar("n=1; Max-Age=99999999999").cookies.first
    assert_in_delta 400 * 86_400, cookie.expires - Time.now, 5
    far = jar("n=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT").cookies.first
    assert_in_delta 400 * 86_400, far.expires - Time.now, 5
  end

  def test_a_cookie_in_clear_hides_none_of_tls
    kept = jar("n=good; Secure; Path=/login", "other=1; Secure; Domain=api.test; Path=/")
    assert_nil kept.set("http://api.test/", "n=evil; Path=/login/x")
    assert_nil kept.set("http://a.api.test/", "other=evil; Path=/")
    assert kept.set("http://api.test/", "n=fine; Path=/")
    assert kept.set("https://api.test/", "n=new; Path=/login")
    assert_equal "n=new; other=1; n=fine", kept.header("https://api.test/login")
  end

  def test_limits
    kept = Trunkline::CookieJar.new
    60.times { |number| kept.set("https://api.test/", "n#{number}=v") }
    assert_equal 50, kept.size
    assert_equal "n10", kept.cookies.first.name
    3100.times { |number| kept.set("https://a#{number}.test/", "n=v") }
    assert_equal 3000, kept.size
  end

  def test_cookies_of_the_gem_are_given_and_taken
    kept = jar("n=v; HttpOnly; Path=/")
    cookie = kept.cookies("https://api.test/").first
    assert_instance_of HTTP::Cookie, cookie
    assert_predicate cookie, :httponly?
    cookie.value = "changed"
    assert_equal "n=v", kept.header("https://api.test/")
    assert_equal "n=changed", kept.add(cookie).header("https://api.test/")
    assert_refused("HTTP::Cookie") { kept.add("n=v") }
    assert_refused("a domain and a path") { kept.add(HTTP::Cookie.new("n", "v")) }
  end

  def test_inspect_and_marshal_reveal_no_cookie
    assert_equal "#<Trunkline::CookieJar 1 cookies>", jar("n=secret").inspect
    assert_raises(TypeError) { Marshal.dump(jar("n=secret")) }
  end

  def test_a_file
    Dir.mktmpdir do |folder|
      path = File.join(folder, "cookies.txt")
      kept = jar("s=\"1, 2\"", "t=3; Max-Age=100; Secure; HttpOnly; Domain=api.test; Path=/", "u=\xFF; Path=/")
      kept.save(path)
      assert_equal 0o600, File.stat(path).mode & 0o777
      assert_equal ["cookies.txt"], Dir.children(folder)
      again = Trunkline::CookieJar.load(path)
      ["https://api.test/a/b", "https://x.api.test/", "http://api.test/a/"].each do |url|
        assert_equal kept.header(url), again.header(url), url
      end
      assert_equal kept.cookies.map { |cookie| [cookie.name, cookie.httponly?, cookie.expires.to_i] },
                   again.cookies.map { |cookie| [cookie.name, cookie.httponly?, cookie.expires.to_i] }
    end
  end

  def test_a_file_without_the_cookies_of_the_session
    Dir.mktmpdir do |folder|
      path = File.join(folder, "cookies.txt")
      jar("s=1", "t=2; Max-Age=9").save(path, session: false)
      assert_equal %w[t], Trunkline::CookieJar.new.load(path).cookies.map(&:name)
    end
  end

  def test_a_file_is_replaced_as_a_whole
    Dir.mktmpdir do |folder|
      path = File.join(folder, "cookies.txt")
      link = File.join(folder, "link")
      File.write(path, "old")
      File.chmod(0o644, path)
      File.symlink(path, link)
      jar("s=1").save(link)
      assert File.symlink?(link)
      assert_equal 0o600, File.stat(path).mode & 0o777
      assert_equal 1, Trunkline::CookieJar.load(path).size
      assert_raises(Errno::ENOENT) { jar("s=1").save(File.join(folder, "none/cookies.txt")) }
      assert_equal %w[cookies.txt link], Dir.children(folder).sort
    end
  end

  def test_a_file_that_curl_has_written
    text = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n" \
           "#HttpOnly_.api.test\tTRUE\t/\tTRUE\t0\tn\tv\r\nother.test\tFALSE\t/\tFALSE\t1\told\tgone\n"
    Dir.mktmpdir do |folder|
      File.write(path = File.join(folder, "jar"), text)
      kept = Trunkline::CookieJar.load(path)
      assert_equal "n=v", kept.header("https://a.api.test/")
      assert_equal 1, kept.size
    end
  end

  def test_files_that_cannot_be_read
    Dir.mktmpdir do |folder|
      path = File.join(folder, "jar")
      assert_refused(path, "cannot be read: No such file") { Trunkline::CookieJar.load(path) }
      assert_refused(folder, "cannot be read: Is a directory") { Trunkline::CookieJar.load(folder) }
      ["", "{}", "\x00\xFF", "api.test\tFALSE\t/\tFALSE\t0\tn\tv\n"].each do |text|
        File.binwrite(path, text)
        assert_refused(path, "is no file of cookies") { Trunkline::CookieJar.load(path) }
      end
      good = "api.test\tFALSE\t/\tFALSE\t0\tn\tv"
      ["secret", "api.test\tFALSE\t/\tFALSE\tsoon\tsecret\tv", "api.test\tFALSE\t/\tFALSE\t0\ts ecret\tv"].each do |bad|
        File.binwrite(path, "# HTTP Cookie File\n#{good}\n#{bad}\n")
        kept = Trunkline::CookieJar.new
        error = assert_refused(path, "line 3") { kept.load(path) }
        refute_includes error.message, "ecret"
        assert_empty kept
      end
    end
  end

  WITHOUT_THE_GEM = <<~RUBY
    module Kernel
      alias required require
      def require(name) = name == "http/cookie" ? raise(LoadError, name) : required(name)
    end
    require "trunkline"
    begin
      Trunkline.new("https://api.test", timeout: 1, cookies: true)
    rescue Trunkline::InvalidRequest => error
      print error.message
    end
  RUBY

  def test_without_the_gems
    lib = File.expand_path("../../lib", __dir__)
    message = IO.popen([RbConfig.ruby, "-I", lib, "-e", WITHOUT_THE_GEM], &:read)
    assert_match(/\Acookies: needs the gems http-cookie and public_suffix: add gem "http-cookie"/, message)
  end

  def test_threads_share_a_jar
    kept = Trunkline::CookieJar.new
    threads = Array.new(8) do |number|
      Thread.new do
        200.times do |round|
          kept.set("https://a#{round % 20}.api.test/", "n#{number}=#{round}; Domain=api.test; Path=/")
          kept.header("https://api.test/")
          kept.set("https://api.test/", "gone=1; Max-Age=0")
        end
      end
    end
    threads.each(&:join)
    assert_equal 8, kept.size
    assert_equal %w[199], kept.cookies.map(&:value).uniq
  end
end
