# frozen_string_literal: true

require "digest/sha1"
require "zlib"
require_relative "actions"
require_relative "callbacks"
require_relative "../encoding"
require_relative "../runner"

module Typhoeus
  # The User-Agent of a request, unless its headers or Config.user_agent set another.
  USER_AGENT = "Typhoeus - https://github.com/typhoeus/typhoeus"

  # One request: run it by itself, or queue it in a Hydra.
  #
  #   Typhoeus::Request.new("https://api.test/users", method: :post, body: { name: "Ann" }, timeout: 5).run.code
  class Request
    extend Actions
    include ::Trunkline::Redacted
    include Callbacks::Types
    include Callbacks

    REDIRECTS = 50
    # Instance variables that Marshal does not write.
    UNMARSHALLED = %i[@on_complete @on_success @on_failure @on_progress @on_headers @on_body @before @hydra
                      @response].freeze
    # Names of options and parameters that contain credentials.
    SECRET = /pass|pwd|user(?!_?agent)|cookie|bearer|key|secret|token|auth|blob/
    private_constant :REDIRECTS, :UNMARSHALLED, :SECRET

    # @return [String]
    attr_accessor :base_url
    # @return [Hash] with the defaults; may be changed until the request is run
    attr_accessor :options
    # @return [Hash] as given
    attr_accessor :original_options
    # @return [Hydra, nil]
    attr_accessor :hydra
    # @return [Boolean, nil] overrides Config.block_connection for this request
    attr_accessor :block_connection
    # @return [Response, nil]
    attr_reader :response
    # @api private
    attr_reader :before_blocks

    # @api private
    # @return [String] a URL without user and password
    def self.without_userinfo(url)
      url.sub(%r{\A([^/?#]*//)?[^/?#]*@}) { Regexp.last_match(1) }
    end

    # @api private
    # @return [Object] a URL without user and password and without the values of parameters that match SECRET; any other
    #   object unchanged
    def self.without_credentials(value)
      return value unless value.is_a?(String)

      without_userinfo(value).gsub(/([?&][^=&#]*=)[^&#]*/) do |pair|
        SECRET.match?(Regexp.last_match(1).downcase) ? "#{Regexp.last_match(1)}#{HIDDEN}" : pair
      end
    end

    # @param base_url [String] http:// is the default scheme
    # @param options [Hash] with Ethon's names: method:, params:, body:, headers:, timeout: (seconds), timeout_ms:,
    #   connecttimeout:, followlocation:, maxredirs:, userpwd:, ssl_verifypeer: ... (docs/switching.md)
    # @raise [Trunkline::RactorError] in any but the main Ractor
    def initialize(base_url, options = {})
      ::Trunkline::RactorError.refuse
      @base_url = base_url
      @original_options = options
      @options = options.dup
      set_headers
      set_defaults
    end

    # Sends the request, unless a before callback, a stub or the cache has its response.
    #
    # @return [Response]
    # @raise [Errors::NoStub] when connections are blocked
    # @raise [Errors::InvalidOption]
    def run
      settled, value = settle_locally
      settled ? value : ::Trunkline::Facades::Typhoeus::Runner.run(self)
    end

    # @yield [request] called before the request is sent (see Typhoeus.before)
    # @return [Array<Proc>]
    def before(&block)
      @before_blocks ||= []
      @before_blocks << block if block
      @before_blocks
    end

    # Streams the body; the response's own body stays empty.
    #
    # @yield [chunk, response] ends the request by returning :abort
    # @return [Array<Proc>]
    def on_body(&block)
      @on_body ||= []
      @on_body << block if block
      @on_body
    end

    # @return [Boolean]
    def streaming?
      !@on_body.nil? && @on_body.any?
    end

    # @return [Boolean]
    def blocked?
      @block_connection.nil? ? Typhoeus.connection_blocked? : @block_connection
    end

    # @return [Boolean] whether a run of a hydra sends it once for all equal requests
    def memoizable?
      !!Config.memoize && !streaming? && request_method == :get
    end

    # @return [Object, nil] the cache of this request
    def cacheable?
      cache
    end

    # @return [Response, nil]
    def cached_response
      cache&.get(self)
    end

    # @return [Integer, nil] seconds
    def cache_ttl
      options[:cache_ttl]
    end

    # Sets the response and calls the callbacks.
    #
    # @param bypass [Boolean, nil] true if the response must be neither cached nor memoized
    # @return [Response]
    def finish(response, bypass = nil)
      bypass ? @response = response : self.response = response
      response.request = self
      execute_callbacks
      response
    end

    # Finishes the request with a copy of a cached response.
    #
    # @param response [Response]
    # @return [Response] the copy
    def finish_cached_response(response)
      copy = response.dup
      copy.cached = true
      copy.request = self
      deliver(copy)
    end

    # @param value [Response]
    def response=(value)
      # Copies are stored, because callbacks may change the response.
      cache.set(self, value.dup) if cache && to_cache?(value)
      hydra.memory[self] = value.dup if hydra && memoizable?
      @response = value
    end

    # @return [String] base_url with the params
    def url
      ::Trunkline::Facades::Typhoeus::Encoding.url(base_url.to_s, options)
    end

    # @api private
    # @return [String] for messages: without user and password
    def shown_url
      Request.without_userinfo(url)
    rescue StandardError
      Request.without_userinfo(base_url.to_s)
    end

    # @return [String] the body that is sent; for a multipart body, its fields as a urlencoded form
    def encoded_body
      ::Trunkline::Facades::Typhoeus::Encoding.form(options[:body], options)
    end

    # Whether class, URL and options are equal; the case of header names matters.
    def eql?(other)
      self.class == other.class && base_url.to_s == other.base_url.to_s &&
        normalized_options == other.normalized_options
    end

    def hash
      Zlib.crc32(cache_key)
    end

    # @return [String] equal for equal URLs and options in any order; cache: and cache_ttl: do not count
    def cache_key
      Digest::SHA1.hexdigest("#{self.class.name}#{base_url}#{canonical(normalized_options.except(:cache, :cache_ttl))}")
    end

    # @api private
    # @return [Symbol]
    def request_method
      (options[:method] || :get).to_s.downcase.to_sym
    end

    # @return [Hash] the options that #eql? compares; method: :get equals no method
    def normalized_options
      method = request_method
      rest = options.except(:method, "method")
      method == :get ? rest : rest.merge(method: method)
    end

    # @return [String] without user, password, query and options
    def inspect
      "#<#{self.class} #{request_method.upcase} #{::Trunkline::URL.redact(base_url.to_s)}>"
    end

    # Marshal writes no credential: headers are redacted as by Trunkline::Headers#inspect; user and password, and
    # options and parameters that match SECRET, are left out.
    #
    # @return [Array] without callbacks, hydra and response
    def marshal_dump
      (instance_variables - UNMARSHALLED - %i[@before_blocks]).map do |name|
        value = instance_variable_get(name)
        [name, value.is_a?(Hash) ? without_credentials(value) : Request.without_credentials(value)]
      end
    end

    def marshal_load(values)
      values.each { |name, value| instance_variable_set(name, value) }
    end

    # Tries the sources of a response other than the network, in this order: before callbacks, stubs, the cache.
    #
    # @api private
    # @return [Array(Boolean, Object)] whether the request must not be sent, and then the value of #run
    # @raise [Errors::NoStub]
    def settle_locally
      if (blocks = Typhoeus.before_callbacks_for(self))
        settled, value = call_before(blocks)
        return [true, value] if settled
      end
      stubbed = Expectation.response_for(self) unless Typhoeus.stubs_disabled?
      return [true, finish_stubbed(stubbed)] if stubbed
      raise Errors::NoStub, self if blocked?

      cached = cached_response
      cached ? [true, finish_cached_response(cached)] : false
    end

    private

    def without_credentials(options)
      options.filter_map do |name, value|
        case name
        when :headers, :httpheader then [name, value && ::Trunkline::Headers.redact(value.to_a).to_h]
        when :params, :body
          [name, value.is_a?(Hash) ? value.reject { |one, _| SECRET.match?(one.to_s.downcase) } : value]
        else [name, Request.without_credentials(value)] unless SECRET.match?(name.to_s)
        end
      end.to_h
    end

    def call_before(blocks)
      blocks.each do |block|
        value = block.call(self)
        return [true, finish_before(value)] if value.is_a?(Response)
        return [true, response] if value.nil? || value == false
      end
      false
    end

    def finish_before(value)
      return value if response

      value.mock = true
      deliver(value)
    end

    # A stub's block may have run this request already.
    def finish_stubbed(response)
      response.request.equal?(self) ? response : deliver(response)
    end

    def deliver(response)
      execute_headers_callbacks(response)
      @on_body&.each { |block| block.call(response.body, response) }
      finish(response)
    end

    def cache
      return if options[:cache] == false

      options[:cache] || Config.cache || nil
    end

    # Responses from a cache or a stub, streamed ones and failed ones are not stored.
    def to_cache?(value)
      !value.cached? && !streaming? && !value.mock? && (value.return_code.nil? || value.return_code == :ok)
    end

    # Class and length of each part keep different options from having the same text.
    def canonical(value)
      case value
      when Hash
        "hash:#{value.size}:#{value.map { |name, one| "#{canonical(name)}#{canonical(one)}" }.sort.join}"
      when Array
        "array:#{value.size}:#{value.map { |one| canonical(one) }.join}"
      else
        text = value.to_s
        "#{value.class}:#{text.bytesize}:#{text}"
      end
    end

    def set_headers
      custom = @options[:headers]
      agent = Config.user_agent || USER_AGENT
      return @options[:headers] = { "User-Agent" => agent, "Expect" => "" } if custom.nil? || custom.empty?

      names = custom.keys.map { |name| name.to_s.downcase }
      headers = names.include?("user-agent") ? custom.dup : { "User-Agent" => agent }.merge(custom)
      headers["Expect"] = "" unless names.include?("expect")
      headers.delete_if { |name, value| value.nil? && name.to_s.casecmp?("expect") }
      @options[:headers] = headers
    end

    def set_defaults
      options = @options
      %i[verbose timeout connecttimeout].each do |name|
        value = Config.public_send(name)
        options[name] = value if !value.nil? && options[name].nil?
      end
      options[:maxredirs] ||= REDIRECTS
      options[:proxy] = Config.proxy unless Config.proxy.nil? || options.key?(:proxy)
    end
  end
end
