# frozen_string_literal: true

require_relative "content"
require_relative "engine"
require_relative "framing"
require_relative "headers"
require_relative "memo"
require_relative "options"
require_relative "proxies"
require_relative "redacted"
require_relative "request"
require_relative "url"
require_relative "version"

module Trunkline
  # Makes of a method, a URL and a call's options what the engine sends. One for each client: what all of its
  # requests share is worked out once.
  #
  # @api private
  class Composer
    include Redacted

    # A request ready for the engine, which knows the order of its members (Engine::Multi#add). Without content it can
    # be performed any number of times, by any thread.
    Plan = Struct.new(:request, :prepared, :content, :body_length, :body) do
      include Redacted

      def self.of(request, prepared, content, length)
        new(request, prepared, content, length, content.producer)
      end
    end

    USUAL = [["User-Agent", "trunkline/#{VERSION}"], ["Accept", "*/*"]].freeze
    # Fields that change how others are made. With Range no coding is asked for: part of a compressed body cannot be
    # decoded.
    SPECIAL = /\A(?:host|content-length|accept-encoding|range)\z/i
    NOTHING = {}.freeze
    KNOWN = 256
    private_constant :KNOWN

    # @param options [Options]
    # @param base [URL, nil]
    # @param owner [Integer] the client's family
    # @raise [InvalidRequest]
    def initialize(options, base, owner)
      @options = options
      @base = base
      @settings = Engine::Settings.new(options.to_engine(owner)) if options.timeout
      @credential_names = (Headers::CREDENTIALS + options.credential_headers).to_h { |name| [name, true] }.freeze
      @query = Query.encode(options.params)
      @netrc = options.netrc unless names_caller?(options)
      @proxies = Proxies.new(options.unix ? false : options.proxy, no_proxy: options.no_proxy)
      @known = {}
      share_fields
    end

    # @param method [String, Symbol]
    # @param location [String, URI, URL, nil]
    # @param given [Hash{Symbol => Object}] the call's own options, checked
    # @return [Plan]
    # @raise [InvalidRequest]
    # @raise [MissingTimeout]
    def plan(method, location, given = NOTHING)
      url = (given.empty? ? URL.resolve(location, @base) : known(location)).with_query(query(given[:params]))
      content = given.empty? ? Content::NONE : Content.of(given)
      build(checked_method(method, content), url, fields(url, given, content), content)
    end

    # @param method [String]
    # @param url [URL]
    # @param pairs [Array<Array(String, String)>] header fields; a nil value leaves a field out
    # @param content [Content]
    # @return [Plan]
    def build(method, url, pairs, content)
      raise MissingTimeout unless @settings

      flat, declared = pairs.equal?(@plain) ? @plain_flat : flatten(pairs)
      flat = flat.dup
      flat[1] ||= url.authority
      length = Framing.length(content, declared)
      flat.concat(Framing.fields(method, content, length, @options.expect)).freeze
      request = Request.new(method, url.without_userinfo, flat, content.source)
      Plan.of(request, prepare(request, url, flat), content, length)
    end

    # A request that another library has composed: its target and fields are sent as they are.
    #
    # @param method [String]
    # @param url [URL] where it goes
    # @param target [String] for the request line (RFC 9112 3.2)
    # @param flat [Array<String>] name, value, name, value...: every field, those that frame the content included
    # @param content [Content]
    # @param length [Integer] of the content, or -1 for a chunked one
    # @return [Plan]
    # @raise [InvalidRequest]
    def verbatim(method, url, target, flat, content, length)
      request = Request.new(method, url, flat, content.source)
      Plan.of(request, prepare(request, url, flat, target), content, length)
    end

    # @return [Boolean] whether a field of that name is bound to the origin it was set for
    def credential?(name)
      @credential_names.key?(name.downcase)
    end

    # @return [Boolean] whether a redirect from https to http may send a body on
    def redirects_body_to_http?
      @options.redirect_body_to_http
    end

    # @return [Proxy, nil] the proxy that is sent the request for url itself, not asked for a way to its server
    def forwarder(url)
      proxy = @proxies.for(url)
      proxy if proxy&.forwards? && !url.tls? && !moved?(url)
    end

    # @return [Boolean] whether there may be such a proxy
    def forwards?
      @proxies.forward?
    end

    private

    # What was said for the client counts more than a file.
    def names_caller?(options)
      options.bearer || options.basic || options.digest || options.auth ||
        options.headers.any? { |name, _| name.casecmp?("authorization") }
    end

    # The same place is called again and again with other content.
    def known(location)
      @known[location] || Memo.keep_url(@known, KNOWN, location, URL.resolve(location, @base))
    end

    def share_fields
      own = @options.headers
      Framing.check(own)
      @own_names = own.to_h { |name, _| [name.downcase, true] }.freeze
      fields = Headers.overlay(Headers.overlay(USUAL, own), authorization(@options.bearer, @options.basic))
      @bound, @fields = fields.partition { |name, _| credential?(name) || name.casecmp?("host") }
      @plain = (@fields + @bound).freeze
      @plain_flat = flatten(@plain).freeze
    end

    # @return [Array(Array<String>, String)] names and values in a row, Host first, its value nil when it is the URL's;
    #   and the Content-Length that a caller declared, or nil
    def flatten(pairs)
      flat = ["Host", nil]
      declared = nil
      decode = @options.decode
      pairs.each do |name, value|
        case SPECIAL.match?(name) && name.downcase
        when "host" then next flat[1] = value
        when "content-length" then next declared = value
        when "accept-encoding", "range" then decode = false
        end
        flat << name << value if value
      end
      flat.push("Accept-Encoding", Engine::CODINGS) if decode
      [flat, declared]
    end

    def prepare(request, url, fields, target = url.target)
      host, port = route(url)
      proxy = @proxies.for(url)
      forwarded = proxy && forwarder(url)
      target = "#{url.origin}#{target unless target == "*"}" if forwarded # RFC 9112 3.2.2, 3.2.4
      Engine::Prepared.new(@settings, request.method, target, fields, host, port, @options.unix,
                           (@options.tls_name || url.host if url.tls?), url.label, proxy&.through(!forwarded))
    rescue TLSError => error # an option's file cannot be used
      raise error.retold({ request: request, label: url.label })
    end

    # Where a connection for url goes (connect_to:).
    def route(url)
      other = other_place(url)
      other ? [other[0], other[1] || url.port] : [url.host, url.port]
    end

    def other_place(url)
      other = @options.connect_to
      other.is_a?(Hash) ? other[url.label] || other[url.host] : other
    end
    alias moved? other_place

    def query(params)
      return @query if params.nil?

      Query.encode(Options.join(@options.params, params))
    end

    # The client's fields, the content's, the call's: each may replace the ones before. Credentials and Host set for
    # the whole client go to its base URL's origin alone.
    def fields(url, given, content)
      own_origin = @base.nil? || url.origin == @base.origin
      userinfo = url.userinfo || @netrc&.credentials(url.host)
      return @plain if given.empty? && own_origin && userinfo.nil?

      fields = Headers.overlay(own_origin ? @fields + @bound : @fields, authorization(nil, userinfo))
      fields = Headers.overlay(fields, content_fields(content)) if content.given?
      fields = Headers.overlay(fields, own_fields(given[:headers], content)) if given[:headers]
      Headers.overlay(fields, authorization(given[:bearer], given[:basic]))
    end

    # No one but multipart: knows its boundary.
    def own_fields(pairs, content)
      Framing.check(pairs)
      content.multipart? ? pairs.reject { |name, _| name.casecmp?("content-type") } : pairs
    end

    # A client's own Content-Type or Accept counts more than what json: and form: would set.
    def content_fields(content)
      return content.fields if content.multipart?

      content.fields.reject { |name, _| @own_names.key?(name.downcase) }
    end

    def authorization(bearer, basic)
      raise InvalidRequest, "bearer: and basic: exclude each other; give one" if bearer && basic
      return [["Authorization", "Bearer #{bearer}"]] if bearer

      basic ? [["Authorization", "Basic #{[basic.join(":")].pack("m0")}"]] : []
    end

    def checked_method(method, content)
      name = method.is_a?(Symbol) ? method.name.upcase : method
      unless name.is_a?(String) && Headers::TOKEN.match?(name) && name != "CONNECT"
        raise InvalidRequest.of("method", method, "a method's name, such as GET (but not CONNECT)")
      end
      raise InvalidRequest, "TRACE has no body (RFC 9110 9.3.8)" if name == "TRACE" && content.given?

      name
    end
  end
end
