# frozen_string_literal: true

require_relative "composition"
require_relative "config"
require_relative "origin"
require_relative "request"
require_relative "../../comma_list"
require_relative "../../memo"
require_relative "../../redacted"

module Trunkline
  # The part of RequestBuilder that the engine provides (see request_builder.rb): makes requests from the caller's
  # arguments, which the private methods there validate, and composes their heads.
  class RequestBuilder
    CONTENT_NAMES = %i[body json form multipart].freeze
    MODES = %i[buffered streamed upgrade].freeze
    # Methods that need no check.
    METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS].to_h { |name| [name, name] }.freeze
    # The beginning of an absolute URL.
    ORIGIN = %r{\Ahttps?://[^/?#]*}n
    HTTPS_BYTES = "https://".bytesize
    # ASCII characters that cannot be sent in a target (RFC 3986 3), and a % that begins no escape. A search for the few
    # wrong characters is much faster than a match of all others.
    UNSENDABLE = /[\x00- "#<>\\^`{|}\x7f]/
    BROKEN_ESCAPE = /%(?!\h\h)/
    # A reference that the URL class must resolve: with a scheme, an authority, or a dot segment.
    UNUSUAL_REFERENCE = %r{\A(?://|\.|[^/?:]*:)|/\.}n
    # Maximum of URL prefixes whose origins a client remembers.
    ORIGINS_MOST = 1024
    JSON_TYPE = "application/json"
    private_constant :CONTENT_NAMES, :MODES, :METHODS, :ORIGIN, :HTTPS_BYTES, :UNSENDABLE, :BROKEN_ESCAPE,
                     :UNUSUAL_REFERENCE, :ORIGINS_MOST, :JSON_TYPE

    # The destination of a request. Not a Struct, which JRuby creates more slowly.
    class Destination
      include Redacted

      # userinfo: the Authorization value from its URL; sendable: whether the target has only characters that can be
      # sent.
      attr_accessor :origin, :target, :uri, :userinfo, :sendable

      def initialize(origin, target, uri, sendable)
        @origin = origin
        @target = target
        @uri = uri
        @userinfo = nil
        @sendable = sendable
      end
    end
    # The content of a request.
    Payload = Struct.new(:content, :type, :json, :multipart, :given) do
      include Redacted

      def length
        return 0 if content.nil?
        return content.bytesize if content.is_a?(String)

        content.length || -1
      end
    end
    NO_CONTENT = Payload.new(nil, nil, false, false, false).freeze
    private_constant :Destination, :Payload, :NO_CONTENT

    # Returns whether all options belong to the call, and none is computed for each request.
    def self.per_call?(options)
      Engine::Ruby::Checks.instance(options, Hash)
      options.empty? || options.all? { |name, value| Options::PER_CALL.include?(name) && !computed?(name, value) }
    end

    def self.computed?(name, value)
      case name
      when :bearer, :basic then callable?(value)
      when :headers
        value.is_a?(Hash) ? value.any? { |_, one| callable?(one) } : value.is_a?(Array)
      end
    end

    # Returns whether the value may be callable, and so be computed for each request (AttemptValues).
    def self.callable?(value)
      case value
      when nil, true, false, String, Symbol, Array, Numeric then false
      else true
      end
    end
    private_class_method :computed?, :callable?

    # See request_builder.rb.
    def build(method, location, options, mode)
      check_mode(mode)
      refuse_without_timeout unless @engine_config
      options = take_options(options)
      destination = destination_of(location)
      origin = destination.origin
      destination.origin = open_tunnel(origin.url) if mode == :upgrade && origin.absolute_form?
      query = options[:params].nil? ? @facts[:query] : encode_params(options[:params])
      payload = payload_of(options)
      method = usual_method(method, payload)
      bearer = options[:bearer]
      basic = options[:basic]
      credentials = authorization(bearer, basic) unless bearer.nil? && basic.nil?
      request = Request._allocate
      request._take(call_options(options, mode, payload))
      composition = composition_for(destination, payload, options, credentials, mode)
      compose(request, method, destination, query, payload, composition)
    end

    def next_unusual(locations, from)
      Engine::Ruby::Checks.instance(locations, Array)
      Engine::Ruby::Checks.instance(from, Integer)
      from.upto(locations.size - 1) do |at|
        location = locations[at]
        return at unless @engine_config && location.is_a?(String) && usual_destination(location)
      end
      nil
    end

    def rebuild(request, method, url, fields, with_content)
      Engine::Ruby::Checks.instance(request, Request)
      Engine::Ruby::Checks.instance(url, URL)
      Engine::Ruby::Checks.instance(fields, Array)
      destination = destination_of_url(url)
      content = request.content if with_content
      payload = Payload.new(content, nil, false, false, !content.nil?)
      method = usual_method(method, payload)
      other = Request._allocate
      other._take(request._options.merge(progress: content && request.progress))
      composition = Composition.new(destination.origin, [checked_pairs(fields)], @facts, other._upgrades?)
      compose(other, method, destination, "", payload, composition)
    end

    def raw(method, url, target, fields, content, length, streaming)
      [method, target].each { |text| Engine::Ruby::Checks.instance(text, String) }
      Engine::Ruby::Checks.instance(url, URL)
      Engine::Ruby::Checks.instance(fields, Array)
      destination = destination_of_url(url)
      destination.target = target.dup
      destination.uri = nil
      request = Request._allocate
      request._take(streaming: streaming ? true : false)
      pairs = checked_pairs(fields.each_slice(2).to_a)
      content = content.dup.freeze if content.is_a?(String)
      field_lines = Lines.new(lines(pairs), true, close?(pairs))
      request._compose(self, destination, method.dup.freeze, content, length, field_lines)
    end

    private

    def _prepare(config, fields, unbound, facts)
      @engine_config = config
      @facts = facts
      @client_fields = fields
      @unbound = unbound
      @client_field_names = fields.select(&:last).to_h { |name, _| [name.downcase, true] }
      @origins = {}
      @default_call_options = MODES.to_h do |mode|
        [mode, build_call_options({}, mode, NO_CONTENT).freeze]
      end.freeze
      @plain_compositions = {}.compare_by_identity
      @json_compositions = {}.compare_by_identity
      self
    end

    def check_mode(mode)
      raise ArgumentError, "the mode must be :buffered, :streamed or :upgrade" unless MODES.include?(mode)
    end

    def take_options(options)
      return NO_OPTIONS if options.nil?
      raise TypeError, "wrong argument type #{options.class} (expected Hash)" unless options.is_a?(Hash)

      options.each_key { |name| refuse_option(name) unless Options::PER_CALL.include?(name) }
      options
    end
    NO_OPTIONS = {}.freeze
    private_constant :NO_OPTIONS

    # ---- destination ----

    def destination_of(location) = usual_destination(location) || unusual_destination(location)

    # @return [Destination, nil] nil: the URL class must parse it
    def usual_destination(location)
      return base_destination if location.nil? || location == ""
      return unless location.is_a?(String) && location.ascii_only?

      if location.start_with?("http://", "https://")
        slash = location.index("/", HTTPS_BYTES) || location.bytesize
        origin = @origins[location.byteslice(0, slash)] and absolute_destination(origin, location, slash)
      elsif usual_reference?(location)
        Destination.new(base_origin, "#{folder_before(location)}#{location}", nil, true)
      end
    end

    def base_destination
      target = @facts[:base_target] and Destination.new(base_origin, target, nil, false)
    end

    def usual_reference?(location)
      @facts[:base_target] && sendable?(location) && !unusual_reference?(location)
    end

    # @param location [String] of ASCII characters
    def sendable?(location)
      !UNSENDABLE.match?(location) && !(location.include?("%") && BROKEN_ESCAPE.match?(location))
    end

    def unusual_reference?(location)
      return UNUSUAL_REFERENCE.match?(location) unless location.start_with?("/")

      location.start_with?("//") || location.include?("/.")
    end

    # @param at [Integer] where the path begins; the URL's length: the path is empty
    def absolute_destination(origin, location, at)
      target = at == location.bytesize ? "/" : location.byteslice(at, location.bytesize - at)
      Destination.new(origin, target, nil, true) if sendable?(target)
    end

    def folder_before(reference)
      case reference.getbyte(0)
      when 47 then nil
      when 63 then @facts[:base_path]
      else @facts[:base_folder]
      end
    end

    def base_origin = @base_origin ||= origin_of(@facts[:base])

    def unusual_destination(location)
      url = resolve(location)
      destination = destination_of_url(url)
      if url.userinfo
        destination.uri = nil
        destination.userinfo = authorization(nil, url.userinfo)
      elsif location.is_a?(String) && (prefix = location.b[ORIGIN])
        remember_origin(prefix, destination.origin)
      end
      destination
    end

    def destination_of_url(url) = Destination.new(origin_of(url), url.target, url, false)

    def origin_of(url)
      @origins[url.origin] || remember_origin(url.origin, open_origin(url))
    end

    def remember_origin(prefix, origin)
      Memo.keep(@origins, ORIGINS_MOST, prefix.dup.freeze, origin)
    end

    # ---- content and options ----

    def payload_of(options)
      return NO_CONTENT unless gives_content?(options)

      kinds = CONTENT_NAMES.select { |kind| options.key?(kind) && (kind == :json || !options[kind].nil?) }
      return NO_CONTENT if kinds.empty?
      return Payload.new(generate_json(options[:json]).freeze, nil, true, false, true) if kinds == [:json]

      text = options[:body] if kinds == [:body] && options[:body].is_a?(String)
      content, type, multipart = text || content_of(options)
      Payload.new(frozen_copy(content), type, false, multipart, true)
    end

    # Written without a block for each name, as #call_options_given?, for speed: most calls give none of these.
    def gives_content?(options)
      return false if options.empty?

      options.key?(:body) || options.key?(:json) || options.key?(:form) || options.key?(:multipart)
    end

    def call_options_given?(options)
      return false if options.empty?

      options.key?(:stream) || options.key?(:follow) || options.key?(:early_hints) || options.key?(:progress) ||
        options.key?(:template)
    end

    # Returns a String that the caller can no longer change.
    def frozen_copy(content) = content.is_a?(String) && !content.frozen? ? content.dup.freeze : content

    def usual_method(method, payload)
      known = METHODS[method] and return known

      usual = method.is_a?(String) && method.ascii_only? && Headers::TOKEN.match?(method) && method != "CONNECT" &&
              !(payload.given && method == "TRACE")
      method = check_method(method, payload.given) unless usual
      method.frozen? ? method : method.dup.freeze
    end

    # Frozen when the call gives none of these options.
    def call_options(options, mode, payload)
      return @default_call_options.fetch(mode) unless call_options_given?(options)

      build_call_options(options, mode, payload)
    end

    def build_call_options(options, mode, payload)
      upgrades = mode == :upgrade
      stream = options[:stream]
      check_option(:stream, stream) if options.key?(:stream) && stream != true && stream != false
      { upgrades: upgrades, streaming: !upgrades && (mode == :streamed || stream == true),
        follow: follow_of(options), early_hints: hints_of(options),
        progress: (check_progress(options[:progress], payload.given) if options[:progress]),
        template: (check_option(:template, options[:template]) if options.key?(:template)) }
    end

    def follow_of(options)
      return @facts[:follow] unless options.key?(:follow)

      check_option(:follow, options[:follow])
    end

    def hints_of(options)
      options.key?(:early_hints) ? check_hints(options[:early_hints]) : @facts[:early_hints]
    end

    # ---- fields ----

    def composition_for(destination, payload, options, credentials, mode)
      known = known_compositions(destination, payload, options, credentials, mode) or
        return composition_of(destination, payload, options, credentials, mode)

      origin = destination.origin
      known[origin] || Memo.keep(known, ORIGINS_MOST, origin, composition_of(destination, payload, options, nil, mode))
    end

    # Most requests have no fields of their own, and no content or JSON: those to one origin share a Composition.
    # @return [Hash{Origin => Composition}, nil]
    def known_compositions(destination, payload, options, credentials, mode)
      return if credentials || destination.userinfo || gives_headers?(options) || mode == :upgrade
      return @plain_compositions unless payload.given

      @json_compositions if payload.json
    end

    def gives_headers?(options) = options.key?(:headers) && options[:headers] != NO_OPTIONS

    def composition_of(destination, payload, options, credentials, mode)
      origin = destination.origin
      groups = [client_pairs(origin)]
      url_credentials = destination.userinfo || origin.authorization
      groups << [["Authorization", url_credentials]] if url_credentials
      groups << content_pairs(payload) if payload.given
      groups << call_pairs(options[:headers], payload) if gives_headers?(options)
      groups << [["Authorization", credentials]] if credentials
      Composition.new(origin, groups, @facts, mode == :upgrade)
    end

    def client_pairs(origin)
      origin.bound_fields? ? @client_fields : @client_fields.first(@unbound)
    end

    # Returns the fields that follow from the content, unless the client sets them.
    def content_pairs(payload)
      type = payload.json ? JSON_TYPE : payload.type
      pairs = []
      pairs << ["Content-Type", type] if type && (payload.multipart || !@client_field_names.key?("content-type"))
      pairs << ["Accept", JSON_TYPE] if payload.json && !@client_field_names.key?("accept")
      pairs
    end

    def call_pairs(headers, payload)
      pairs = check_headers(headers)
      payload.multipart ? pairs.reject { |name, _| name.casecmp?("content-type") } : pairs
    end

    def checked_pairs(pairs)
      pairs.each do |name, value|
        unless name.is_a?(String) && Headers::TOKEN.match?(name) && (value.nil? || value.is_a?(String))
          raise InvalidRequest, "headers: the name #{name.inspect} is not a token (RFC 9110 5.1)"
        end
        next unless value&.b&.match?(Headers::FORBIDDEN)

        raise InvalidRequest, "headers: the value of #{name} holds CR, LF, NUL or another control character"
      end
    end

    def lines(pairs)
      pairs.each_with_object("".b) { |(name, value), text| text << name.b << ": " << value.b << "\r\n" if value }
    end

    def close?(pairs)
      pairs.any? { |name, value| value && name.casecmp?("connection") && CommaList.include?(value, "close") }
    end

    # ---- the head ----

    def compose(request, method, destination, query, payload, composition)
      unless query.empty?
        destination.uri = nil
        destination.target = with_query(destination.target, query)
        destination.sendable = false
      end
      length = composition.length(payload)
      refuse_length(composition.declared, payload.length) unless length
      lines = composition.lines(method, payload, length)
      request._compose(self, destination, method, payload.content, length, lines)
    end

    # Appends to a query that the target already has.
    def with_query(target, query)
      return "#{target}?#{query}" unless target.include?("?")

      target.end_with?("?") && target.index("?") == target.bytesize - 1 ? "#{target}#{query}" : "#{target}&#{query}"
    end
  end
end
