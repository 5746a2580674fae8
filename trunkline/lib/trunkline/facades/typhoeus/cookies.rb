# frozen_string_literal: true

require "stringio"
require "uri"
require_relative "../../host"
require_relative "../../policy"
require_relative "../../redacted"

module Trunkline
  module Facades
    module Typhoeus
      # The cookies of one request: read from cookiefile:, sent with each exchange and stored from each response,
      # written to cookiejar: at the end in Netscape's format, as libcurl does. Writing replaces the jar: its cookies
      # are lost unless cookiefile: has read them.
      #
      # Uses the gem http-cookie (RFC 6265), which is loaded for these options only.
      class Cookies
        include Redacted

        HEADER = "# Netscape HTTP Cookie File"
        # Commands for libcurl's cookie engine; without effect, because each request has its own cookies.
        COMMANDS = %w[ALL SESS FLUSH RELOAD].freeze
        private_constant :HEADER, :COMMANDS

        # @param options [Hash] cookiefile: (a path, several, or ""), cookiejar: (a path, or "-" for standard output),
        #   cookielist: (a line of a cookie file, or Set-Cookie: with a domain), cookiesession:
        # @raise [Typhoeus::Errors::InvalidOption] without the gem
        def initialize(options, builder)
          self.class.load_gem(options.keys.first)
          @builder = builder
          @path = options[:cookiejar]&.to_s
          @jar = HTTP::CookieJar.new
          Array(options[:cookiefile]).each { |path| read(path.to_s) }
          @jar.cleanup(true) if options[:cookiesession]
          Array(options[:cookielist]).each { |line| add(line.to_s) }
        end

        def self.load_gem(option)
          require "http-cookie"
        rescue LoadError
          raise ::Typhoeus::Errors::InvalidOption.new(option, "It needs the gem http-cookie: add it to the Gemfile.")
        end

        # @param request [Trunkline::Request]
        # @yield [request] sends the request, with its cookies
        # @return [Response]
        def call(request, _call)
          @origin ||= request.uri.origin
          @caller_cookie ||= request.headers["Cookie"].to_s # sent to the first origin only
          response = yield with_cookies(request)
          store(response)
          response
        end

        # @param response [Response]
        def store(response)
          source = uri(response.request.uri)
          response.headers.get_all("Set-Cookie").each { |text| @jar.parse(text, source) }
        end

        # As in libcurl, a file that cannot be written raises no error; a warning is printed.
        # @return [nil]
        def save
          return if @path.nil? || @path.empty?
          return write($stdout) if @path == "-"

          fresh = "#{@path}.#{Process.pid}.#{object_id}"
          File.open(fresh, "w", 0o600) { |file| write(file) }
          File.rename(fresh, @path)
          nil
        rescue SystemCallError => error
          warn("cookiejar #{@path}: #{error.message}")
        end

        private

        # A missing file adds no cookies.
        def read(path)
          @jar.load(path, format: :cookiestxt, session: true) if File.file?(path)
        end

        def add(line)
          return if COMMANDS.include?(line)

          text = line[/\Aset-cookie:\s*(.+)/mi, 1]
          return @jar.load(StringIO.new("#{line}\n"), format: :cookiestxt, session: true) unless text

          domain = text[/;\s*domain=\.?([^;\s]+)/i, 1]
          @jar.parse(text, URI("http://#{domain}/")) if domain
        end

        def with_cookies(request)
          url = request.uri
          caller_cookie = url.origin == @origin ? @caller_cookie : ""
          sent = [HTTP::Cookie.cookie_value(@jar.cookies(uri(url))), caller_cookie].reject(&:empty?).join("; ")
          return request if sent == request.headers["Cookie"].to_s

          Policy.add_fields(request, [["Cookie", sent.empty? ? nil : sent]], @builder)
        end

        # Builds the URI from its parts, because URI's parser refuses some paths that servers accept.
        def uri(url)
          host = Host.bracketed(url.host)
          (url.tls? ? URI::HTTPS : URI::HTTP).new(url.scheme, nil, host, url.port, nil, url.path, nil, nil, nil)
        end

        def write(file)
          @jar.save(file, format: :cookiestxt, session: true, header: HEADER)
        end
      end
    end
  end
end
