# frozen_string_literal: true

require "digest"
require_relative "content"
require_relative "engine"
require_relative "framing"
require_relative "headers"
require_relative "json_encoding"
require_relative "memo"
require_relative "of_main_ractor"
require_relative "options"
require_relative "proxies"
require_relative "query"
require_relative "redacted"
require_relative "redaction"
require_relative "request"
require_relative "transfer_progress"
require_relative "url"
require_relative "version"

module Trunkline
  # Builds requests from a method, a URL and the options of a call. Each client has one RequestBuilder, which keeps what
  # all its requests share: header fields as bytes, and an Engine::Origin for each origin.
  #
  # The engine defines these methods:
  #
  #   build(method, location, options, mode) -> Request
  #                     location: String, URI, URL, or nil for the base URL; options: a Hash of options of a call
  #                     (Options::PER_CALL), or nil; mode: :buffered, the response is streamed only with stream: true;
  #                     :streamed, it always is; :upgrade, the connection becomes a WebSocket. Raises InvalidRequest,
  #                     MissingTimeout, and ArgumentError for another mode
  #   next_unusual(locations, from) -> Integer, nil
  #                     the index of the next element of an Array, beginning at from, that must be checked, because
  #                     building a GET from it could fail; nil: none
  #   rebuild(request, method, url, fields, with_content) -> Request
  #                     the request that follows another one, after a redirect or a challenge: fields is an Array of
  #                     name and value pairs, all but those that frame the content; a nil value leaves a field out
  #   raw(method, url, target, fields, content, length, streaming) -> Request
  #                     a request that another library has composed: target and fields (name, value, name, value...)
  #                     are sent unchanged; content: nil, a String or a Content; length: its bytes, or -1 for chunked
  #                     content
  #   per_call?(options)
  #                     method of the class: whether all of these options are in Options::PER_CALL, and none has a
  #                     value that is computed for each request
  #
  # The engine composes ordinary requests without Ruby, and calls the private methods below for everything else. They
  # return the checked value, or raise InvalidRequest.
  #
  # @api private
  class RequestBuilder
    include OfMainRactor
    include Redacted

    # Maximum numbers of digests of credentials, and of PresentedFields, that are kept.
    DIGESTS = 64
    PRESENTED = 64
    private_constant :DIGESTS, :PRESENTED

    DEFAULT_FIELDS = [["User-Agent", "trunkline/#{VERSION}"], ["Accept", "*/*"]].freeze

    # The value of body: that keeps the content of a request (see #change).
    UNCHANGED = Object.new.freeze

    # @param options [Options]
    # @param base [URL, nil]
    # @param owner_id [Integer] the owner id of the client's PoolHandle
    # @raise [InvalidRequest]
    def initialize(options, base, owner_id)
      @anchor = OfMainRactor::ANCHOR
      @options = options
      @base = base
      @digests = {}
      @presented = {}
      @config = Engine::Config.new(options.to_engine(owner_id)) if options.timeout
      @credential_names = (Headers::CREDENTIALS + options.credential_headers).to_h { |name| [name, true] }.freeze
      @netrc = options.netrc unless credentials_set?(options)
      @proxies = Proxies.new(options.unix ? false : options.proxy, no_proxy: options.no_proxy)
      unbound, bound = client_fields
      _prepare(@config, unbound + bound, unbound.size, shared.merge(references))
    end

    # @return [Options] the options of the client
    attr_reader :options

    # @return [Array(Proxy, String, Integer)] the proxy (nil: none), and the host and port to connect to
    def route_with_proxy(url) = [@proxies.for(url), *route(url)]

    # @return [Timeouts, nil] the timeouts of the client
    def timeouts = @options.timeout

    # @return [Object] see Options#sharing
    def sharing = @sharing ||= @options.sharing.freeze

    # @return [String] equal for all clients, in any process, that reach the same servers in the same way, and so get
    #   the same responses to the same requests (see Policy::Cache)
    def identity = @identity ||= @options.identity

    # @param credentials [String]
    # @return [String] a digest, which is cached
    def digest(credentials)
      @digests[credentials] || Memo.keep(@digests, DIGESTS, credentials, Digest::SHA256.hexdigest(credentials))
    end

    # @param request [Request] as it is sent
    # @param signer [String, nil] name of the object that signs the request
    # @return [Policy::Cache::PresentedFields] cached by the fields and the signer
    def presented_fields(request, signer)
      lines = request._field_lines
      lines = "#{signer}\n".b << lines if signer
      @presented[lines] ||
        Memo.keep(@presented, PRESENTED, lines,
                  Policy::Cache::PresentedFields.new(request._fields_by_name, self, signer))
    end

    # @return [Redaction] for logs and messages about the client's requests
    def redaction = @redaction ||= @options.redact.empty? ? Redaction::DEFAULT : Redaction.new(@options.redact)

    # @return [Hash{String => true}] names, in lower case, of header fields that are bound to their origin
    attr_reader :credential_names

    # @return [Boolean] whether a field of that name is bound to the origin it was set for
    def credential?(name)
      @credential_names.key?(name.downcase)
    end

    # @return [Boolean] whether a redirect from https to http may send a body on
    def redirects_body_to_http?
      @options.redirect_body_to_http
    end

    # @return [Boolean] whether there may be a proxy to which requests are sent without a tunnel
    def forwards?
      @proxies.forward?
    end

    # Returns a changed copy of a request (see Request#with).
    #
    # @param url [URL, nil]
    # @param body [Object] as the option body: of a call; nil for no content; UNCHANGED keeps the content and its type
    # @return [Request]
    # @raise [InvalidRequest]
    def change(request, url:, method:, headers:, body:)
      url ||= request.uri
      method = method ? check_method(method, nil) : request.method
      request, type = with_content(request, body) unless body.equal?(UNCHANGED)
      fields = fields_for(request, url, check_headers(headers || []), type)
      rebuild(request, method, url, fields, true)
    end

    private

    # @param changes [Array<Array(String, String)>] fields to add or replace
    # @param type [String, nil] the media type of new content
    def fields_for(request, url, changes, type)
      same = { same_origin: url.origin == request.uri.origin, same_method: request.content? }
      kept = Policy::Redirect.next_fields(request.headers, **same) { |name| credential?(name) }
      fields = Headers.overlay(kept, changes)
      fields << ["Content-Type", type] if type && !field?(fields, "content-type")
      fields << ["Accept-Encoding", nil] unless field?(fields, "accept-encoding") # no default is added
      fields
    end

    def field?(fields, name) = fields.any? { |one, _| one.casecmp?(name) }

    # @return [Array(Request, String)] the request with the new content, and the media type of the content
    def with_content(request, body)
      content, type = content_of({ body: body }) unless body.nil?
      [request._with(content.is_a?(String) ? content.dup : content, request.streaming?), type]
    end

    # ---- what all requests share ----

    # Credentials that are options of the client take precedence over those of a netrc file.
    def credentials_set?(options)
      options.bearer || options.basic || options.digest || options.auth ||
        options.headers.any? { |name, _| name.casecmp?("authorization") }
    end

    # @return [Array(Array, Array)] fields as [name, value, whether the caller named it]: first the fields for all
    #   origins, then those for the base URL's origin alone (credentials and Host)
    def client_fields
      headers = @options.headers
      Framing.check(headers)
      names = headers.to_h { |name, _| [name.downcase, true] }
      fields = Headers.overlay(Headers.overlay(default_fields, headers), credentials(@options.bearer, @options.basic))
      fields = fields.map { |name, value| [name, value, names.key?(name.downcase)] }
      fields.partition { |name, _| !credential?(name) && !name.casecmp?("host") }
    end

    # @return [Array<Array(String, String)>] the default fields, including those that name the application
    def default_fields
      name = @options.app_name
      env = @options.app_env || (app_env if name)
      return DEFAULT_FIELDS unless name || env

      agent = [name, ("(#{env})" if env), "trunkline/#{VERSION}"].compact.join(" ")
      app_fields = [["User-Agent", agent], ["X-App-Name", name], ["X-App-Env", env]].select(&:last)
      Headers.overlay(DEFAULT_FIELDS, app_fields)
    end

    # @return [String, nil]
    def app_env
      Options.check(:app_env, ENV.values_at("RAILS_ENV", "RACK_ENV").compact.find { |one| !one.empty? })
    end

    def shared
      { params: @options.params, query: Query.encode(@options.params), early_hints: check_hints(@options.early_hints),
        follow: @options.follow, decode: @options.decode,
        expect_above: (@options.expect[:above] if @options.expect) }
    end

    # The base URL and the parts of it to which the engine appends relative references (see URL.resolve); the parts are
    # nil when appending is not enough.
    def references
      plain = @base if @base && @base.userinfo.nil? && !@base.path.include?("/.")
      { base: @base, base_target: plain&.target, base_path: plain&.path, base_folder: plain&.path&.sub(%r{/?\z}, "/") }
    end

    def credentials(bearer, basic)
      value = authorization(bearer, basic)
      value ? [["Authorization", value]] : []
    end

    # ---- methods that the engine calls ----

    # @return [URL]
    def resolve(location)
      URL.resolve(location, @base)
    end

    # @param url [URL]
    # @return [Engine::Origin]
    # @raise [InvalidRequest]
    def open_origin(url, tunnel: url.tls? || moved?(url))
      host, port = route(url)
      proxy = @proxies.for(url)
      forwarder = proxy if proxy&.forwards? && !tunnel
      netrc = @netrc&.credentials(url.host)
      Engine::Origin.new(@config, url.root, {
                           host: host, port: port, unix_path: @options.unix,
                           tls_name: (@options.tls_name || url.host if url.tls?), label: url.label,
                           authority: url.authority, prefix: url.origin, proxy: proxy&.through(forwarder.nil?),
                           forwarder: forwarder, authorization: (authorization(nil, netrc) if netrc),
                           json_decoder: @options.json_decoder,
                           bound_fields: @base.nil? || url.origin == @base.origin
                         })
    end

    # @return [Engine::Origin] with a tunnel through the proxy, even if requests could be sent to the proxy itself
    def open_tunnel(url) = open_origin(url, tunnel: true)

    # Returns the host and port to connect to for url (see connect_to:).
    def route(url)
      host, port = connect_to_override(url)
      host ? [host, port || url.port] : [url.host, url.port]
    end

    def connect_to_override(url)
      targets = @options.connect_to
      targets.is_a?(Hash) ? targets[url.label] || targets[url.host] : targets
    end
    alias moved? connect_to_override

    # @return [String] the query of the client's and the call's params
    def encode_params(params)
      Query.encode(Options.join(@options.params, Options.check(:params, params)))
    end

    # @return [Array<Array(String, String)>]
    def check_headers(headers)
      Headers.pairs(headers).tap { |pairs| Framing.check(pairs) }
    end

    def check_method(method, content)
      name = method.is_a?(Symbol) ? method.name.upcase : method
      unless name.is_a?(String) && name.ascii_only? && Headers::TOKEN.match?(name) && name != "CONNECT"
        raise InvalidRequest.of("method", method, "a method's name, such as GET (but not CONNECT)")
      end
      raise InvalidRequest, "TRACE has no body (RFC 9110 9.3.8)" if name == "TRACE" && content

      name
    end

    # @return [Array(Object, String, Boolean)] a String or a Content; its media type; whether that type has a boundary
    def content_of(options)
      content = Content.of(options)
      [content.producer.is_a?(String) ? content.producer : content, content.type, content.multipart?]
    end

    # @return [String]
    def generate_json(value)
      encoder = @options.json_encoder
      return JSONEncoding.generate(value) unless encoder

      text = encoder.call(value)
      return text if text.is_a?(String)

      raise InvalidRequest.of("json_encoder", text.class, "callable, and return a String")
    end

    # @return [String, nil] the value of an Authorization field
    def authorization(bearer, basic)
      bearer = Options.check(:bearer, bearer) unless bearer.nil?
      basic = Options.check(:basic, basic) unless basic.nil?
      raise InvalidRequest, "bearer: and basic: exclude each other; give one" if bearer && basic
      return "Bearer #{bearer}" if bearer

      Headers.basic(basic) if basic
    end

    def check_option(name, value)
      Options.check(name, value)
    end

    # @return [Proc, nil] calls the caller's callable with Headers
    def check_hints(value)
      value = Options.check(:early_hints, value)
      value && ->(fields) { value.call(Headers.new(fields)) }
    end

    # @return [TransferProgress::Reporter, nil]
    def check_progress(value, content)
      wanted = Options.check(:progress, value)
      return TransferProgress::Reporter.for(wanted) if content || !wanted

      raise InvalidRequest, "progress: tells how much of a body is sent, and this call has no body"
    end

    def refuse_option(name)
      raise Options.unknown(name)
    end

    def refuse_length(declared, length)
      raise InvalidRequest.of("headers: Content-Length", declared, "#{length}, which the body has, or left out")
    end

    def refuse_without_timeout
      raise MissingTimeout
    end
  end
end
