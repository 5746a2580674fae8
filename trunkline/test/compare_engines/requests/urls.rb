# frozen_string_literal: true

require "uri"

# Random URLs of a client and of its calls. Only the recorder is called: REMOTE are hosts for cases in which connect_to:
# or a proxy leads there.
class RequestURLs
  HOSTS = (["127.0.0.1:PORT"] * 4 + %w[localhost:PORT [::1]:PORT LOCALHOST:PORT]).freeze
  REMOTE = ["api.test", "API.Test", "api.test.", "api.test:80", "api.test:8080", "user_name.test", "b\u00fccher.test",
            "xn--bcher-kva.test", "10.0.0.1", "[2001:DB8::1]:81", "[::ffff:1.2.3.4]", "\u{1F600}.test", "api.test:",
            "api.test:080"].freeze
  BAD_HOSTS = ["1.2.3", "0x7f.1", "a..b", "-a.test", "api.test:0", "api.test:99999", "api.test:8a", "", "a b.test",
               "[::1", "[::1%25lo]", "a%41.test", "api.test\\x", "a" * 70, "c4n4ry@x@api.test"].freeze
  USERINFO = ["u:c4n4ry@", "u@", ":c4n4ry@", "@", "u%40x:c4n4ry%3A@", "a:b:c4n4ry@", "%C3%A9:c4n4ry@",
              "%ff:c4n4ry@"].freeze
  BAD_USERINFO = ["u:c4n4ry x@", "u:c4n4ry\u00e9@", "u:%zz@", "u%3Ax:c4n4ry@", "%00:c4n4ry@"].freeze
  BAD_SCHEMES = ["http:/", "ws://", "http:", " http://", "http//", "://"].freeze
  PATHS = ["", "/", "/v1", "/v1/", "/v1//", "/a/b?x=1", "/?", "?", "?q=1", "/?q=1&", "/#f", "#f", "/a?b#c", "/a/../b",
           "/./a", "/..", "/a/.", "/a/...", "/.a", "//double", "/a;b=c", "/[1]", "/a:b", "/%41%2f%2F", "/%", "/%4",
           "/%zz", "/a?b=%", "/a b", "/a?b c", "/\u00e9?\u00e9", "/{x}", "/a|b", "/a\\b", "/*", "*", "/~a", "/a\"b",
           "/a'b", "/a?b?c", "/a&b", "/a=b", "/!$()*+,;@", "/?[]=1", "/#", "/a#?b", "/%2e%2e/a", "/a/%2E/b"].freeze
  REFERENCES = ["users", "users/1?a=b", "../x", "./x", ".", "..", "a/../b", "?q", "?", "#f", "a/b:c", "httpx",
                "http//x", "/http://x", "a#b?c", " x", "x ", "*", "**", "a?b/../c", ".a", "a/.b", "&a=1", "%2e", "%",
                "\u00e9", "HTTP://127.0.0.1:PORT/u"].freeze
  BAD_REFERENCES = ["//host", "//", "///", "a:b", "mailto:x", "ftp://127.0.0.1/", "http:", "http:/x", "http://",
                    "https://", "http:x", "javascript:1", "/a\n", "a\0", "\t", "1:2", "/\x7f"].freeze
  FORMS = { uri: 2, url: 1, encoded: 4, subclass: 1, like: 1, joined: 1, text: 22 }.freeze

  # @param port [Integer] of the recorder; replaces PORT
  def initialize(dice, texts, port)
    @dice = dice
    @texts = texts
    @port = port
  end

  # @param remote [Boolean] whether every host may be called
  # @return [Object] an absolute URL
  def absolute(remote)
    host = remote && !@dice.one_in?(3) ? @dice.mostly(REMOTE, BAD_HOSTS) : @dice.pick(HOSTS)
    scheme = @dice.one_in?(30) ? @dice.pick(BAD_SCHEMES) : @dice.mostly(["http://"], ["HTTP://", "Http://"])
    userinfo = scheme == "http://" && @dice.one_in?(6) ? @dice.mostly(USERINFO, BAD_USERINFO) : ""
    form("#{scheme}#{userinfo}#{host}#{path}")
  end

  # @param based [Boolean] whether the client has a base URL
  # @return [Object] the URL of a call
  def of_call(remote, based)
    return @dice.pick([@texts.scalar, :sym, 1, "", [], Object.new]) if @dice.one_in?(40)
    return absolute(remote) unless based && @dice.one_in?(2)

    case @dice.int(0..8)
    when 0..2 then form(@dice.mostly(REFERENCES, BAD_REFERENCES))
    when 3..6 then form(path)
    when 7 then @texts.any
    end
  end

  private

  def path = @dice.one_in?(6) ? "/#{utf8(@texts.any).scrub}" : @dice.pick(PATHS)

  # @return [Object] the text, in another class or encoding in a part of the cases
  def form(text)
    return mislabelled(text, "UTF-16LE") if @dice.one_in?(60)

    text = text.gsub("PORT", @port.to_s)
    case @dice.weighted(FORMS)
    when :uri then URI(text)
    when :url then Trunkline::URL.parse(text)
    when :subclass then Class.new(String).new(text)
    when :like then RequestTexts::StringLike.new(text)
    when :joined then "#{text}#{utf8(@texts.any)}"
    when :encoded then encoded(text)
    else @texts.copy(text)
    end
  rescue ArgumentError, URI::Error, EncodingError
    text
  end

  def encoded(text)
    case @dice.int(0..3)
    when 0 then text.b
    when 1 then mislabelled(text, @dice.pick(%w[US-ASCII ISO-8859-1]))
    else text.encode(@dice.pick(%w[UTF-16LE UTF-16BE ISO-8859-1 UTF-32LE Shift_JIS US-ASCII]))
    end
  end

  def utf8(text) = text.dup.force_encoding("UTF-8")

  # String#b of Ruby 3.1.2 makes a broken String, which crashes Ruby, of 23 bytes that are labelled UTF-16.
  def mislabelled(text, encoding) = (text.bytesize == 23 ? "#{text}/" : text).dup.force_encoding(encoding)
end
