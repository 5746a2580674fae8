# frozen_string_literal: true

require "ipaddr"
require_relative "errors"
require_relative "host"
require_relative "loading"
require_relative "lock"
require_relative "redacted"
require_relative "url"

module Trunkline
  # The cookies of a client, or of a user: RFC 6265bis, with the cookies of the http-cookie gem and the list of public
  # suffixes of the public_suffix gem. Both gems are loaded when the first jar is made. Safe to share between threads,
  # fibers and clients.
  #
  #   jar = Trunkline::CookieJar.new
  #   client = Trunkline.new("https://api.test", timeout: 5, cookies: jar)
  #   jar.save("cookies.txt")
  #
  # SameSite is ignored: it tells a browser which site's page made a request, and no page makes one here.
  class CookieJar
    include Redacted

    # How many cookies are kept; those not used for longest go first (RFC 6265bis 6.1).
    PER_DOMAIN = 50
    IN_ALL = 3000
    # What the names ask for (RFC 6265bis 4.1.3).
    SECURE_PREFIX = /\A__(?:Secure|Host)-/i
    HOST_PREFIX = /\A__Host-/i
    private_constant :SECURE_PREFIX, :HOST_PREFIX

    class << self
      # @param path [String, Pathname] see #save
      # @return [CookieJar] with the cookies of the file
      # @raise [InvalidRequest] when the file cannot be read, or is no file of cookies
      def load(path) = new.load(path)

      # @return [PublicSuffix::List] after #load_gems
      # @api private
      def suffixes = @suffixes || PublicSuffix::List.default

      # @raise [InvalidRequest] without the gems
      # @api private
      def load_gems
        Loading.apart do
          require "http/cookie"
          require "public_suffix"
          read_suffixes
        end
      rescue LoadError => error
        raise InvalidRequest, "cookies: needs the gems http-cookie and public_suffix: add gem \"http-cookie\", " \
                              "\"~> 1.1\" and gem \"public_suffix\", \">= 5\" to the Gemfile (#{error.message})"
      end

      private

      # A file of 300 KB, in UTF-8. The gem would read it in the encoding of the locale.
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

    # Takes a cookie that a server sets, if RFC 6265bis 5.7 allows it.
    #
    # @param url [String, URI, URL] where the answer came from
    # @param field [String] the value of a Set-Cookie field
    # @return [HTTP::Cookie, nil] nil when it was refused, or has removed one
    def set(url, field)
      now = Time.now
      received = SetCookie.parse(field, now) or return
      url = URL.parse(url) unless url.is_a?(URL)
      cookie = cookie_of(received, url) or return

      @lock.synchronize { put(cookie, url.tls?, now) }
    end

    # Takes a cookie as it is, for one that was had elsewhere.
    #
    # @param cookie [HTTP::Cookie] with domain and path
    # @return [self]
    def add(cookie)
      raise InvalidRequest.of("cookie", cookie.class, "an HTTP::Cookie") unless cookie.is_a?(HTTP::Cookie)
      raise InvalidRequest, "cookie: must have a domain and a path" unless cookie.domain && cookie.path

      @lock.synchronize { put(cookie.dup, true, Time.now) }
      self
    end

    # @param url [String, URI, URL, nil] nil for all
    # @return [Array<HTTP::Cookie>] copies of those that a request to url has, in the order they are sent; or of all, in
    #   the order they were set
    def cookies(url = nil)
      now = Time.now
      url = URL.parse(url) unless url.nil? || url.is_a?(URL)
      @lock.synchronize { url ? matching(url, now) : all(now) }.map(&:dup)
    end

    # @param url [String, URI, URL]
    # @return [String, nil] the value of the Cookie field; nil when there is no cookie
    def header(url)
      pairs = cookies(url).map { |cookie| "#{cookie.name}=#{cookie.value}".b }
      pairs.join("; ") unless pairs.empty?
    end

    # @return [Integer]
    def size = cookies.size

    # @return [Boolean]
    def empty? = size.zero?

    # @return [Boolean] whether there is nothing in it, not even a cookie that has expired
    # @api private
    def _untouched? = @domains.empty?

    # @return [self]
    def clear
      @lock.synchronize { @domains.clear }
      self
    end

    # Writes the cookies into a file in the format of cookies.txt, which curl reads too (curl -b), in one step: the file
    # is complete or as it was. Its mode is 0600.
    #
    # @param path [String, Pathname]
    # @param session [Boolean] whether cookies without an end are written too, as curl does
    # @return [self]
    # @raise [SystemCallError]
    def save(path, session: true)
      kept = session ? cookies : cookies.reject(&:session?)
      CookiesTxt.write(File.path(path), kept)
      self
    end

    # Adds the cookies of a file that #save, curl (curl -c) or a browser's export wrote.
    #
    # @param path [String, Pathname]
    # @return [self]
    # @raise [InvalidRequest] when the file cannot be read, or is no file of cookies; then nothing was added
    def load(path)
      path = File.path(path)
      found = CookiesTxt.read(path)
      @lock.synchronize { found.each { |cookie| put(cookie, true, Time.now) } }
      self
    rescue SystemCallError => error
      raise InvalidRequest, "cookies: #{path.inspect} cannot be read: #{error.class.new.message}"
    end

    # The cookies are not shown: they are credentials.
    # @return [String]
    def inspect = "#<#{self.class} #{size} cookies>"

    private

    # ---- what a server may set (RFC 6265bis 5.7) ----

    # @return [HTTP::Cookie, nil]
    def cookie_of(received, url)
      return unless allowed?(received, url)

      host = host_of(url)
      domain = received.domain && domain_of(received.domain, host) { return }
      HTTP::Cookie.new(received.name, received.value,
                       domain: domain || host, for_domain: !domain.nil?, path: received.path || default_path(url.path),
                       secure: received.secure?, httponly: received.http_only?, expires: received.expires)
    rescue ArgumentError
      nil # a name that no cookie of the gem can have
    end

    def allowed?(received, url)
      return false if received.secure? && !url.tls?
      return false if SECURE_PREFIX.match?(received.name) && !received.secure?

      !HOST_PREFIX.match?(received.name) || (received.domain.nil? && received.path == "/")
    end

    # @return [String, nil] the domain whose hosts get the cookie; nil for the host alone
    # @yield when the host may not set a cookie for it
    def domain_of(text, host)
      domain = Host.normalise(text.dup.force_encoding(Encoding::UTF_8))
      return yield unless domain == host || host.end_with?(".#{domain}")
      return domain unless public_suffix?(domain)

      domain == host ? nil : yield
    rescue InvalidRequest
      yield
    end

    # @return [Boolean] whether anybody may register names below it; so it is with addresses, which have none
    def public_suffix?(domain)
      name = DomainName.new(domain)
      name.ipaddr? || name.domain.nil? || !PublicSuffix.valid?(name.hostname_idn, list: CookieJar.suffixes)
    end

    # RFC 6265bis 5.1.4
    def default_path(path)
      folder = path[0, path.rindex("/")]
      folder.empty? ? "/" : folder
    end

    # ---- the store; under the lock ----

    # @param secure [Boolean] whether it came over TLS
    # @return [HTTP::Cookie, nil]
    def put(cookie, secure, now)
      return if !secure && overlays_secure?(cookie)

      kept = (@domains[cookie.domain] ||= {})
      key = [cookie.path, cookie.name]
      old = kept[key]
      cookie.created_at = old && !old.expired?(now) ? old.created_at : now
      cookie.accessed_at = now
      return remove(cookie.domain, key) if cookie.expired?(now)

      kept[key] = cookie
      make_room(cookie.domain, now)
      cookie
    end

    # A cookie that came in clear neither replaces nor hides one that is for TLS alone (RFC 6265bis 5.7, 16).
    def overlays_secure?(cookie)
      @domains.any? do |domain, kept|
        related = domain == cookie.domain || domain.end_with?(".#{cookie.domain}") ||
                  cookie.domain.end_with?(".#{domain}")
        related && kept.each_value.any? do |other|
          other.secure? && other.name == cookie.name && HTTP::Cookie.path_match?(other.path, cookie.path)
        end
      end
    end

    # @return [nil]
    def remove(domain, key)
      kept = @domains[domain] or return
      kept.delete(key)
      @domains.delete(domain) if kept.empty?
      nil
    end

    def make_room(domain, now)
      drop_oldest(@domains[domain].values, now) if @domains[domain].size > PER_DOMAIN
      drop_oldest(@domains.each_value.flat_map(&:values), now) if @domains.each_value.sum(&:size) > IN_ALL
    end

    def drop_oldest(cookies, now)
      oldest = cookies.min_by { |cookie| [cookie.expired?(now) ? 0 : 1, cookie.secure? ? 1 : 0, cookie.accessed_at] }
      remove(oldest.domain, [oldest.path, oldest.name])
    end

    # @return [Array<HTTP::Cookie>]
    def all(now)
      @domains.each_value.flat_map(&:values).reject { |cookie| cookie.expired?(now) }.sort_by(&:created_at)
    end

    # Those with longer paths first, then those that were set first (RFC 6265bis 5.8.3).
    # @return [Array<HTTP::Cookie>]
    def matching(url, now)
      host = host_of(url)
      found = domains_over(host).flat_map do |domain|
        @domains.fetch(domain, {}).values.select { |cookie| matches?(cookie, host, url, now) }
      end
      found.each { |cookie| cookie.accessed_at = now }
      found.sort_by { |cookie| [-cookie.path.size, cookie.created_at] }
    end

    # @return [Array<String>] "a.b.test" is under "b.test" and "test"
    def domains_over(host)
      return [host] if host.include?(":")

      labels = host.split(".")
      labels.each_index.map { |first| labels.drop(first).join(".") }
    end

    def matches?(cookie, host, url, now)
      (cookie.for_domain? || cookie.domain == host) && (!cookie.secure? || url.tls?) &&
        HTTP::Cookie.path_match?(cookie.path, url.path) && !cookie.expired?(now)
    end

    # @return [String] as the gem writes it: without a dot at its end, an IPv6 address in its shortest form
    def host_of(url)
      url.host.include?(":") ? IPAddr.new(url.host).to_s : url.host.chomp(".")
    end
  end
end

# Behind the class, which an autoload would look for in this file.
require_relative "cookie_jar/cookies_txt"
require_relative "cookie_jar/set_cookie"
