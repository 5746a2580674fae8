# frozen_string_literal: true

require_relative "errors"
require_relative "redacted"

module Trunkline
  # Header fields: in the order they came, repeated ones kept, names compared without case (RFC 9110 5.1).
  # Frozen. Those of an answer are read from its bytes when they are asked for.
  class Headers
    include Enumerable
    include Redacted

    TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/
    # @api private
    FORBIDDEN = /[\x00-\x08\x0a-\x1f\x7f]/n
    # White space around a value does not belong to it (RFC 9110 5.5).
    PADDED = /\A[ \t]|[ \t]\z/n
    private_constant :PADDED

    # Fields whose values are credentials: bound to the origin they were set for.
    CREDENTIALS = %w[authorization cookie proxy-authorization x-api-key].freeze
    # Fields whose values are shown. Any other may be a credential: applications have tokens of their own.
    SHOWN = %w[
      accept accept-charset accept-encoding accept-language accept-ranges access-control-allow-headers
      access-control-allow-methods access-control-allow-origin age allow alt-svc cache-control connection
      content-disposition content-encoding content-language content-length content-range content-type date etag expect
      expires host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-modified pragma
      proxy-authenticate range retry-after server server-timing strict-transport-security te trailer transfer-encoding
      upgrade user-agent vary via warning www-authenticate x-content-type-options x-frame-options x-powered-by
      x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset x-request-id x-runtime
    ].to_h { |name| [name, true] }.freeze
    private_constant :SHOWN

    class << self
      # Turns what a caller gives as headers: into pairs, each checked.
      #
      # @param given [Hash, Headers, Array<Array>] names as String or Symbol (:x_id is "x-id"); values as String,
      #   Symbol, Numeric, an Array of those (one field each), or nil (removes a default)
      # @return [Array<Array(String, String)>] frozen pairs; a nil value stays nil
      # @raise [InvalidRequest]
      # @api private
      def pairs(given)
        checked_pairs(given) if collection(given).is_a?(Array)
        given.each_with_object([]) do |(name, value), pairs|
          name = field_name(name)
          if value.is_a?(Array)
            value.each { |one| pairs << [name, field_value(name, one)].freeze }
          else
            pairs << [name, value.nil? ? nil : field_value(name, value)].freeze
          end
        end.freeze
      end

      # @return [Hash, Headers, Array] what was given as headers:, whose elements are not looked at
      # @raise [InvalidRequest]
      # @api private
      def collection(given)
        return given if given.is_a?(Hash) || given.is_a?(Headers) || given.is_a?(Array)

        raise InvalidRequest.of("headers", given, "a Hash, Headers or an Array of pairs")
      end

      # @return [String] a field name, checked to be a token (RFC 9110 5.6.2)
      # @api private
      def field_name(name, argument = "headers")
        text = name.is_a?(Symbol) ? name.name.tr("_", "-") : name
        return frozen(text) if text.is_a?(String) && text.ascii_only? && TOKEN.match?(text)

        # The caller may have given a whole field as its name: the value is not shown.
        shown = text.is_a?(String) ? "what begins with #{text.b[/\A[!#$%&'*+\-.^_`|~0-9A-Za-z]*/].inspect}" : name.class
        raise InvalidRequest, "#{argument}: must be a field name of letters, digits and !#$%&'*+-.^_`|~, got #{shown}"
      end

      # @param pair [Array(String, String)] user and password
      # @return [String] the value of an Authorization field (RFC 7617)
      # @api private
      def basic(pair)
        "Basic #{[pair.join(":")].pack("m0")}"
      end

      # @return [Boolean] whether a field's value may be a credential
      # @api private
      def hidden?(name)
        !SHOWN.key?(name.downcase)
      end

      # @param pairs [Enumerable<Array(String, String)>]
      # @return [Array<Array(String, String)>] with what may be a credential hidden
      # @api private
      def redact(pairs)
        pairs.map { |name, value| [name, hidden?(name) ? Redacted::HIDDEN : value] }
      end

      # Joins two lists of pairs: a name in the second replaces that name's pairs in the first. A nil value stays, to
      # remove a default.
      #
      # @return [Array<Array(String, String)>]
      # @api private
      def overlay(base, changes)
        return base if changes.empty?

        base.reject { |name, _| changes.any? { |changed, _| name.casecmp?(changed) } }.concat(changes)
      end

      private

      def checked_pairs(given)
        return if given.all? { |pair| pair.is_a?(Array) && pair.size == 2 }

        raise InvalidRequest, "headers: must be an Array of pairs; one of its elements is not a name and a value"
      end

      def field_value(name, value)
        text = case value
               when String then value
               when Symbol, Numeric then value.to_s
               else raise InvalidRequest.of("headers: #{name}", value.class, "a String, Symbol or Numeric")
               end
        bytes = text.ascii_only? ? text : text.b
        # The value is not shown: it may be a credential.
        if bytes.match?(FORBIDDEN)
          raise InvalidRequest, "headers: #{name}: must have no CR, LF, NUL or other control characters in its value"
        end

        bytes.match?(PADDED) ? text.gsub(/\A[ \t]+|[ \t]+\z/, "") : frozen(text)
      end

      def frozen(text)
        text.frozen? ? text : text.dup.freeze
      end
    end

    # The fields of an answer. They are read from its bytes when something is asked for.
    #
    # @api private
    # @param response [Response]
    # @return [Headers]
    def self.received(response)
      new(nil, response)
    end

    # @param pairs [Array<Array(String, String)>]
    def initialize(pairs = [], response = nil)
      @pairs = pairs.freeze
      @response = response
      freeze
    end

    # @param name [String, Symbol]
    # @return [String, nil] the value; several are joined by ", " (RFC 9110 5.3)
    def [](name)
      return @response[name] if @response

      found = get_all(name)
      found.size > 1 ? found.join(", ") : found.first
    end

    # @param name [String, Symbol]
    # @return [Array<String>] every value of that name, in order
    def get_all(name)
      name = name.name.tr("_", "-") if name.is_a?(Symbol)
      pairs.each_with_object([]) { |(known, value), found| found << value if known.casecmp?(name) }
    end
    alias values get_all

    # @return [String] as #[]
    # @raise [KeyError] when there is no such field and neither default nor block
    def fetch(name, *default)
      value = self[name]
      return value unless value.nil?
      return yield(name) if block_given?
      return default.first unless default.empty?

      raise KeyError.new("no header field #{name}", receiver: self, key: name)
    end

    # @return [Boolean]
    def key?(name)
      !self[name].nil?
    end
    alias include? key?
    alias has_key? key?

    # Yields name and value of every field, repeated ones each by itself.
    def each(&block)
      return enum_for(:each) { size } unless block

      pairs.each(&block)
      self
    end

    # @return [Array<String>] the distinct names, as first written
    def names = pairs.map(&:first).uniq(&:downcase)
    alias keys names

    # @return [Integer] number of fields, repeated ones counted each
    def size = pairs.size
    alias length size

    # @return [Boolean]
    def empty? = pairs.empty?

    # @return [Hash{String => String}] names in lower case; values joined as by #[]
    def to_h
      return @response._fields_by_name if @response

      pairs.each_with_object({}) do |(name, value), hash|
        name = name.downcase
        hash[name] = hash.key?(name) ? "#{hash[name]}, #{value}" : value
      end
    end

    # @return [Array<Array(String, String)>] a copy of the fields
    def to_a = pairs.map(&:dup)

    def ==(other)
      other.is_a?(Headers) && comparable == other.comparable
    end
    alias eql? ==

    def hash = comparable.hash

    # Shows the values of fields that are known to hold no credential, and hides all others.
    def inspect
      "#<#{self.class} #{Headers.redact(pairs).map { |pair| pair.join(": ") }.join(" | ")}>"
    end

    # Marshal and YAML write what inspect shows. To write all values, write #to_a.
    # @return [Array<Array(String, String)>]
    def marshal_dump = Headers.redact(pairs)

    def marshal_load(pairs)
      initialize(pairs)
    end

    protected

    def pairs = @pairs || @response._pairs

    def comparable
      pairs.map { |name, value| [name.downcase, value] }
    end
  end
end
