# frozen_string_literal: true

require "digest"
require_relative "content"
require_relative "engine"
require_relative "framing"
require_relative "headers"
require_relative "json_encoding"
require_relative "memo"
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
  # Makes requests of a method, a URL and a call's options. Each client has one, which knows what all of its requests
  # share: their fields as bytes, and an Engine::Origin for each origin.
  #
  # From the engine itself:
  #
  #   build(method, location, options, streaming) -> Request
  #                     location: String, URI, URL, or nil for the base URL; options: a Hash of a call's own options
  #                     (Options::PER_CALL), or nil; streaming: whether the answer is streamed though stream: is not
  #                     given. Raises InvalidRequest and MissingTimeout
  #   next_unusual(locations, from) -> Integer, nil
  #                     the index of the next of an Array, of which a GET without options is not certain to be built
  #   rebuild(request, method, url, fields, with_content) -> Request
  #                     what is sent after an answer to another (a redirect, a challenge): fields is an Array of name
  #                     and value pairs, all but those that frame the content; a nil value leaves a field out
  #   raw(method, url, target, fields, content, length, streaming) -> Request
  #                     what another library has composed: target and fields (name, value, name, value...) are sent as
  #                     they are; content: nil, a String or a Content; length: bytes, or -1 for a chunked one
  #   per_call?(options)
  #                     of the class: whether all of these options are a call's own
  #
  # The engine composes ordinary requests without Ruby, and calls the private methods below for everything else. They
  # return the checked value, or raise InvalidRequest.
  #
  # @api private
  class RequestBuilder
    include Redacted

    # Digests of credentials, and fields as caches read them, that are kept.
    DIGESTS = 64
    PRESENTED = 64
    private_constant :DIGESTS, :PRESENTED

    USUAL = [["User-Agent", "trunkline/#{VERSION}"], ["Accept", "*/*"]].freeze

    # @param options [Options]
    # @param base [URL, nil]
    # @param owner [Integer] the client's family
    # @raise [InvalidRequest]
    def initialize(options, base, owner)
      @options = options
      @base = base
      @digests = {}
      @presented = {}
      @config = Engine::Config.new(options.to_engine(owner)) if options.timeout
      @credential_names = (Headers::CREDENTIALS + options.credential_headers).to_h { |name| [name, true] }.freeze
      @netrc = options.netrc unless names_caller?(options)
      @proxies = Proxies.new(options.unix ? false : options.proxy, no_proxy: options.no_proxy)
      unbound, bound = client_fields
      _prepare(@config, unbound + bound, unbound.size, shared.merge(references))
    end

    # @return [Options] of the client
    attr_reader :options

    # @return [Array(Proxy, String, Integer)] the proxy (nil: none), and the host and port that connections are made to
    def way_to(url) = [@proxies.for(url), *route(url)]

    # @return [Timeouts, nil] of the client
    def timeouts = @options.timeout

    # @return [Object] see Options#sharing
    def sharing = @sharing ||= @options.sharing.freeze

    # @return [String] the same for all clients, of whichever process, that reach the same servers in the same way, so
    #   that the answers to the same requests are the same (see Policy::Cache)
    def identity = @identity ||= @options.identity

    # @param credentials [String]
    # @return [String] a digest; those that were asked for last are kept
    def digest(credentials)
      @digests[credentials] || Memo.keep(@digests, DIGESTS, credentials, Digest::SHA256.hexdigest(credentials))
    end

    # @param request [Request] as it is sent
    # @param signer [String, nil] names what signs it
    # @return [Policy::Cache::PresentedFields] those that were asked for last are kept
    def presented_fields(request, signer)
      lines = request._field_lines
      lines = "#{signer}\n".b << lines if signer
      @presented[lines] ||
        Memo.keep(@presented, PRESENTED, lines,
                  Policy::Cache::PresentedFields.new(request._fields_by_name, self, signer))
    end

    # @return [Redaction] for what is shown of its requests
    def redaction = @redaction ||= @options.redact.empty? ? Redaction::DEFAULT : Redaction.new(@options.redact)

    # @return [Hash{String => true}] names of those that are bound to their origin, in lower case
    attr_reader :credential_names

    # @return [Boolean] whether a field of that name is bound to the origin it was set for
    def credential?(name)
      @credential_names.key?(name.downcase)
    end

    # @return [Boolean] whether a redirect from https to http may send a body on
    def redirects_body_to_http?
      @options.redirect_body_to_http
    end

    # @return [Boolean] whether there may be a proxy that is sent requests themselves
    def forwards?
      @proxies.forward?
    end

    # Makes another request of one (see Request#with).
    #
    # @param url [URL, nil]
    # @param content [Array(Object), Object] in an Array: what the caller gave as its new body
    # @return [Request]
    # @raise [InvalidRequest]
    def change(request, url:, method:, headers:, content:)
      url ||= request.uri
      method = method ? check_method(method, nil) : request.method
      request, type = with_content(request, content.first) if content.is_a?(Array)
      fields = fields_for(request, url, check_headers(headers || []), type)
      rebuild(request, method, url, fields, true)
    end

    private

    # @param own [Array<Array(String, String)>] fields to lay over the request's
    # @param type [String, nil] of its new content
    def fields_for(request, url, own, type)
      same = { same_origin: url.origin == request.uri.origin, same_method: request.content? }
      kept = Policy::Redirect.next_fields(request.headers, **same) { |name| credential?(name) }
      fields = Headers.overlay(kept, own)
      fields << ["Content-Type", type] if type && !field?(fields, "content-type")
      fields << ["Accept-Encoding", nil] unless field?(fields, "accept-encoding") # none but what was asked for at first
      fields
    end

    def field?(fields, name) = fields.any? { |one, _| one.casecmp?(name) }

    # @return [Array(Request, String)] with the content, and its type
    def with_content(request, body)
      content, type = content_of({ body: body }) unless body.nil?
      [request._with(content.is_a?(String) ? content.dup : content, request.streaming?), type]
    end

    # ---- what all requests share ----

    # Credentials that are options of the client win over those of a netrc file.
    def names_caller?(options)
      options.bearer || options.basic || options.digest || options.auth ||
        options.headers.any? { |name, _| name.casecmp?("authorization") }
    end

    # @return [Array(Array, Array)] [name, value, whether the caller named it]: those that go everywhere, and those for
    #   the base URL's origin alone: credentials, and Host
    def client_fields
      own = @options.headers
      Framing.check(own)
      names = own.to_h { |name, _| [name.downcase, true] }
      fields = Headers.overlay(Headers.overlay(usual_fields, own), credentials(@options.bearer, @options.basic))
      fields = fields.map { |name, value| [name, value, names.key?(name.downcase)] }
      fields.partition { |name, _| !credential?(name) && !name.casecmp?("host") }
    end

    # @return [Array<Array(String, String)>] that say which application calls
    def usual_fields
      name = @options.app_name
      env = @options.app_env || (app_env if name)
      return USUAL unless name || env

      agent = [name, ("(#{env})" if env), "trunkline/#{VERSION}"].compact.join(" ")
      own = [["User-Agent", agent], ["X-App-Name", name], ["X-App-Env", env]].select(&:last)
      Headers.overlay(USUAL, own)
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

    # What relative references are added to (see URL.resolve); nil where that takes more than to add them.
    def references
      plain = @base if @base && @base.userinfo.nil? && !@base.path.include?("/.")
      { base: @base, base_target: plain&.target, base_path: plain&.path, base_folder: plain&.path&.sub(%r{/?\z}, "/") }
    end

    def credentials(bearer, basic)
      value = authorization(bearer, basic)
      value ? [["Authorization", value]] : []
    end

    # ---- what the engine asks for ----

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

    # @return [Engine::Origin] which a proxy opens a tunnel to, where it would be sent the requests themselves
    def open_tunnel(url) = open_origin(url, tunnel: true)

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

    # @return [String] of the client's params and the call's
    def encode_params(params)
      Query.encode(Options.join(@options.params, Options.check(:params, params)))
    end

    # @return [Array<Array(String, String)>]
    def check_headers(given)
      Headers.pairs(given).tap { |pairs| Framing.check(pairs) }
    end

    def check_method(method, content)
      name = method.is_a?(Symbol) ? method.name.upcase : method
      unless name.is_a?(String) && Headers::TOKEN.match?(name) && name != "CONNECT"
        raise InvalidRequest.of("method", method, "a method's name, such as GET (but not CONNECT)")
      end
      raise InvalidRequest, "TRACE has no body (RFC 9110 9.3.8)" if name == "TRACE" && content

      name
    end

    # @return [Array(Object, String, Boolean)] a String or a Content; its type; whether that has a boundary
    def content_of(given)
      content = Content.of(given)
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

    # @return [Proc, nil] that gives a caller's own Headers
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
