# frozen_string_literal: true

require "stringio"
require "uri"
require_relative "../../policy"
require_relative "../../redacted"

module Trunkline
  module TyphoeusFace
    # The cookies of one request: read from cookiefile:, sent and taken on each hop, written to cookiejar: at the end,
    # in Netscape's format, as libcurl and browsers have it. What is in a jar that is not read is gone after that.
    #
    # The gem http-cookie does the work (RFC 6265); who has no such option needs no such gem.
    class Cookies
      include Redacted

      HEADER = "# Netscape HTTP Cookie File"
      # Of an engine that keeps its cookies; here each request has its own.
      COMMANDS = %w[ALL SESS FLUSH RELOAD].freeze
      private_constant :HEADER, :COMMANDS

      # @param given [Hash] cookiefile: (a path, several, or ""), cookiejar: (a path, or "-" for standard output),
      #   cookielist: (a line of a cookie file, or Set-Cookie: with a domain), cookiesession:
      # @raise [Typhoeus::Errors::InvalidOption] without the gem
      def initialize(given, composer)
        self.class.load_gem(given.keys.first)
        @composer = composer
        @path = given[:cookiejar]&.to_s
        @jar = HTTP::CookieJar.new
        Array(given[:cookiefile]).each { |path| read(path.to_s) }
        @jar.cleanup(true) if given[:cookiesession]
        Array(given[:cookielist]).each { |line| add(line.to_s) }
      end

      def self.load_gem(option)
        require "http-cookie"
      rescue LoadError
        raise ::Typhoeus::Errors::InvalidOption.new(option, "It needs the gem http-cookie: add it to the Gemfile.")
      end

      # @param plan [Composer::Plan]
      # @yield [plan] performs it, with the cookies that are meant for it
      # @return [Response]
      def call(plan)
        @origin ||= plan.request.uri.origin
        @own ||= plan.request.headers["Cookie"].to_s # what the request said itself: not for others
        response = yield dressed(plan)
        take(response)
        response
      end

      # @param response [Response]
      def take(response)
        place = place_of(response.request.uri)
        response.headers.get_all("Set-Cookie").each { |text| @jar.parse(text, place) }
      end

      # libcurl does not fail either when the file cannot be written.
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

      # What is not there is no jar yet.
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

      def dressed(plan)
        uri = plan.request.uri
        own = uri.origin == @origin ? @own : ""
        sent = [HTTP::Cookie.cookie_value(@jar.cookies(place_of(uri))), own].reject(&:empty?).join("; ")
        return plan if sent == plan.request.headers["Cookie"].to_s

        Policy.dress(plan, [["Cookie", sent.empty? ? nil : sent]], @composer)
      end

      # Unparsed: what a server takes for a path is not always one to URI.
      def place_of(url)
        host = url.host.include?(":") ? "[#{url.host}]" : url.host
        (url.tls? ? URI::HTTPS : URI::HTTP).new(url.scheme, nil, host, url.port, nil, url.path, nil, nil, nil)
      end

      def write(file)
        @jar.save(file, format: :cookiestxt, session: true, header: HEADER)
      end
    end
  end
end
