# frozen_string_literal: true

require "ipaddr"
require_relative "errors"
require_relative "host"
require_relative "loading"
require_relative "lock"
require_relative "redacted"
require_relative "url"

module Trunkline
  # The cookies of a client, or of a user (RFC 6265bis). Uses the cookies of the http-cookie gem and the public suffix
  # list of the public_suffix gem, which are loaded with the first jar. Safe to share between threads, fibers and
  # clients.
  #
  #   jar = Trunkline::CookieJar.new
  #   client = Trunkline.new("https://api.test", timeout: 5, cookies: jar)
  #   jar.save("cookies.txt")
  #
  # SameSite is ignored: it depends on the page that made a request in a browser, and there is no page here.
  class CookieJar
    include Redacted

    # Maximum numbers of cookies. The least recently used ones are removed first (RFC 6265bis 6.1).
    MAX_PER_DOMAIN = 50
    MAX_COOKIES = 3000
    # Names that require attributes of the cookie (RFC 6265bis 4.1.3).
    SECURE_PREFIX = /\A__(?:Secure|Host)-/i
    HOST_PREFIX = /\A__Host-/i
    private_constant :SECURE_PREFIX, :HOST_PREFIX

    class << self
      # @param path [String, Pathname] a file in the format of #save
      # @return [CookieJar] with the cookies of the file
      # @raise [InvalidRequest] when the file cannot be read or is not in that format
      def load(path) = new.load(path)

      # @return [PublicSuffix::List] call load_gems first
      # @api private
      def suffixes = @suffixes || PublicSuffix::List.default

      # @raise [InvalidRequest] without the gems
      # @api private
      def load_gems
        Loading.in_thread_if_needed do
          require "http/cookie"
          require "public_suffix"
          read_suffixes
        end
      rescue LoadError => error
        raise InvalidRequest, "cookies: needs the gems http-cookie and public_suffix: add gem \"http-cookie\", " \
                              "\"~> 1.1\" and gem \"public_suffix\", \">= 5\" to the Gemfile (#{error.message})"
      end

      private

      # Parses the list (300 KB) as UTF-8; the gem would read it in the encoding of the locale.
      def read_suffixes
        return suffixes if @suffixes || Encoding.default_external == Encoding::UTF_8

        file = PublicSuffix::List::DEFAULT_LIST_PATH
        @suffixes = PublicSuffix::List.parse(File.read(file, encoding: Encoding::UTF_8))
      end
    end

    # @raise [InvalidRequest] without the gems http-cookie and public_suffix
    def initialize
      CookieJar.load_gems
      @domains = {}
      @lock = Lock.new
    end

    # Stores a cookie that a server sets, if RFC 6265bis 5.7 allows it.
    #
    # @param url [String, URI, URL] the URL of the response
    # @param field [String] the value of a Set-Cookie field
    # @return [HTTP::Cookie, nil] nil when the cookie was refused, or has removed another one
    # @raise [InvalidRequest] for an invalid URL
    def set(url, field)
      now = Time.now
      received = SetCookie.parse(field, now) or return
      url = URL.parse(url) unless url.is_a?(URL)
      cookie = cookie_of(received, url) or return

      @lock.synchronize { put(cookie, url.tls?, now) }
    end

    # Stores a cookie from another source, without the checks of #set.
    #
    # @param cookie [HTTP::Cookie] with domain and path
    # @return [self]
    # @raise [InvalidRequest] for any other object, or without domain or path
    def add(cookie)
      raise InvalidRequest.of("cookie", cookie.class, "an HTTP::Cookie") unless cookie.is_a?(HTTP::Cookie)
      raise InvalidRequest, "cookie: must have a domain and a path" unless cookie.domain && cookie.path

      @lock.synchronize { put(cookie.dup, true, Time.now) }
      self
    end

    # @param url [String, URI, URL, nil] nil for all cookies
    # @return [Array<HTTP::Cookie>] copies of the cookies that a request to url carries, in the order they are sent; for
    #   nil, of all cookies, in the order they were set
    # @raise [InvalidRequest] for an invalid URL
    def cookies(url = nil)
      now = Time.now
      url = URL.parse(url) unless url.nil? || url.is_a?(URL)
      @lock.synchronize { url ? matching(url, now) : all(now) }.map(&:dup)
    end

    # @param url [String, URI, URL]
    # @return [String, nil] the value of the Cookie field for a request to url; nil without a cookie
    # @raise [InvalidRequest] for an invalid URL
    def header(url)
      pairs = cookies(url).map { |cookie| "#{cookie.name}=#{cookie.value}".b }
      pairs.join("; ") unless pairs.empty?
    end

    # @return [Integer] number of cookies that have not expired
    def size = cookies.size

    # @return [Boolean] whether the jar has no cookie that has not expired
    def empty? = size.zero?

    # @return [Boolean] whether the jar is empty, expired cookies counted
    # @api private
    def _untouched? = @domains.empty?

    # Removes all cookies.
    # @return [self]
    def clear
      @lock.synchronize { @domains.clear }
      self
    end

    # Writes the cookies to a file in the format cookies.txt, which curl also reads (curl -b). The file gets mode 0600
    # and is replaced in one step, so it never has a part of the contents.
    #
    # @param path [String, Pathname]
    # @param session [Boolean] whether to write session cookies (without an expiry), as curl does
    # @return [self]
    # @raise [SystemCallError] when the file cannot be written
    def save(path, session: true)
      stored = session ? cookies : cookies.reject(&:session?)
      CookiesTxt.write(File.path(path), stored)
      self
    end

    # Adds the cookies of a file that was written by #save, by curl (curl -c), or by the export of a browser.
    #
    # @param path [String, Pathname]
    # @return [self]
    # @raise [InvalidRequest] when the file cannot be read or is not in that format; no cookie was added then
    def load(path)
      path = File.path(path)
      found = CookiesTxt.read(path)
      @lock.synchronize { found.each { |cookie| put(cookie, true, Time.now) } }
      self
    rescue SystemCallError => error
      raise InvalidRequest, "cookies: #{path.inspect} cannot be read: #{error.class.new.message}"
    end

    # Shows no cookies, because they are credentials.
    # @return [String]
    def inspect = "#<#{self.class} #{size} cookies>"

    private

    # ---- cookies that a server may set (RFC 6265bis 5.7) ----

    # @return [HTTP::Cookie, nil]
    def cookie_of(received, url)
      return unless allowed?(received, url)

      host = host_of(url)
      domain = received.domain && domain_of(received.domain, host) { return }
      HTTP::Cookie.new(received.name, received.value,
                       domain: domain || host, for_domain: !domain.nil?, path: received.path || default_path(url.path),
                       secure: received.secure?, httponly: received.http_only?, expires: received.expires)
    rescue ArgumentError
      nil # the gem refuses this name
    end

    def allowed?(received, url)
      return false if received.secure? && !url.tls?
      return false if SECURE_PREFIX.match?(received.name) && !received.secure?

      !HOST_PREFIX.match?(received.name) || (received.domain.nil? && received.path == "/")
    end

    # @return [String, nil] the domain whose hosts receive the cookie; nil when only this host does
    # @yield when the host may not set a cookie for that domain
    def domain_of(text, host)
      domain = Host.normalise(text.dup.force_encoding(Encoding::UTF_8))
      return yield unless domain == host || host.end_with?(".#{domain}")
      return domain unless public_suffix?(domain)

      domain == host ? nil : yield
    rescue InvalidRequest
      yield
    end

    # @return [Boolean] whether anyone may register names below domain; also true for an IP address
    def public_suffix?(domain)
      name = DomainName.new(domain)
      name.ipaddr? || name.domain.nil? || !PublicSuffix.valid?(name.hostname_idn, list: CookieJar.suffixes)
    end

    # RFC 6265bis 5.1.4
    def default_path(path)
      folder = path[0, path.rindex("/")]
      folder.empty? ? "/" : folder
    end

    # ---- the store; callers hold @lock ----

    # @param secure [Boolean] whether the cookie was received over TLS
    # @return [HTTP::Cookie, nil]
    def put(cookie, secure, now)
      return if !secure && overlays_secure?(cookie)

      stored = (@domains[cookie.domain] ||= {})
      key = [cookie.path, cookie.name]
      old = stored[key]
      cookie.created_at = old && !old.expired?(now) ? old.created_at : now
      cookie.accessed_at = now
      return remove(cookie.domain, key) if cookie.expired?(now)

      stored[key] = cookie
      make_room(cookie.domain, now)
      cookie
    end

    # A cookie received without TLS must neither replace nor shadow a cookie with the attribute Secure (RFC 6265bis 5.7,
    # 16).
    def overlays_secure?(cookie)
      @domains.any? do |domain, stored|
        related = domain == cookie.domain || domain.end_with?(".#{cookie.domain}") ||
                  cookie.domain.end_with?(".#{domain}")
        related && stored.each_value.any? do |other|
          other.secure? && other.name == cookie.name && HTTP::Cookie.path_match?(other.path, cookie.path)
        end
      end
    end

    # @return [nil]
    def remove(domain, key)
      stored = @domains[domain] or return
      stored.delete(key)
      @domains.delete(domain) if stored.empty?
      nil
    end

    def make_room(domain, now)
      drop_oldest(@domains[domain].values, now) if @domains[domain].size > MAX_PER_DOMAIN
      drop_oldest(@domains.each_value.flat_map(&:values), now) if @domains.each_value.sum(&:size) > MAX_COOKIES
    end

    def drop_oldest(cookies, now)
      oldest = cookies.min_by { |cookie| [cookie.expired?(now) ? 0 : 1, cookie.secure? ? 1 : 0, cookie.accessed_at] }
      remove(oldest.domain, [oldest.path, oldest.name])
    end

    # @return [Array<HTTP::Cookie>]
    def all(now)
      @domains.each_value.flat_map(&:values).reject { |cookie| cookie.expired?(now) }.sort_by(&:created_at)
    end

    # Cookies with longer paths come first, then those that were set first (RFC 6265bis 5.8.3).
    # @return [Array<HTTP::Cookie>]
    def matching(url, now)
      host = host_of(url)
      found = host_and_parent_domains(host).flat_map do |domain|
        @domains.fetch(domain, {}).values.select { |cookie| matches?(cookie, host, url, now) }
      end
      found.each { |cookie| cookie.accessed_at = now }
      found.sort_by { |cookie| [-cookie.path.size, cookie.created_at] }
    end

    # @return [Array<String>] the host and its parent domains: "a.b.test", "b.test", "test"
    def host_and_parent_domains(host)
      return [host] if host.include?(":")

      labels = host.split(".")
      labels.each_index.map { |first| labels.drop(first).join(".") }
    end

    def matches?(cookie, host, url, now)
      (cookie.for_domain? || cookie.domain == host) && (!cookie.secure? || url.tls?) &&
        HTTP::Cookie.path_match?(cookie.path, url.path) && !cookie.expired?(now)
    end

    # @return [String] in the form that the gem uses: without a trailing dot, an IPv6 address in its shortest form
    def host_of(url)
      url.host.include?(":") ? IPAddr.new(url.host).to_s : url.host.chomp(".")
    end
  end
end

# At the end of the file: the class must exist first, or its autoload would load this file again.
require_relative "cookie_jar/cookies_txt"
require_relative "cookie_jar/set_cookie"
