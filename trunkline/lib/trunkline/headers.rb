# frozen_string_literal: true

require_relative "errors"
require_relative "ows"
require_relative "redacted"

module Trunkline
  # Header fields, in order, with repeated fields kept; names are compared without case (RFC 9110 5.1). Frozen. The
  # fields of a response are parsed on first use.
  class Headers
    include Enumerable
    include Redacted

    TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/
    # Maximum size of a name in bytes.
    # @api private
    NAME_BYTES = 65_535
    # @api private
    FORBIDDEN = /[\x00-\x08\x0a-\x1f\x7f]/n

    # Fields whose values are credentials: they are sent only to the origin that they were set for.
    CREDENTIALS = %w[authorization cookie proxy-authorization x-api-key].freeze
    # Fields whose values are shown. The values of all others are hidden, because applications have credential fields of
    # their own.
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
      # Converts headers: of a caller to pairs, and checks them.
      #
      # @param headers [Hash, Headers, Array<Array>] names as String or Symbol (:x_id is "x-id"); values as String,
      #   Symbol, Numeric, an Array of those (one field each), or nil (removes a default)
      # @return [Array<Array(String, String)>] frozen pairs; a nil value stays nil
      # @raise [InvalidRequest] for an invalid name or value
      # @api private
      def pairs(headers)
        checked_pairs(headers) if collection(headers).is_a?(Array)
        pairs = []
        headers.each do |name, value|
          name = field_name(name)
          if value.is_a?(Array)
            value.each { |one| pairs << [name, field_value(name, one)].freeze }
          else
            pairs << [name, value.nil? ? nil : field_value(name, value)].freeze
          end
        end
        pairs.freeze
      end

      # @return [Hash, Headers, Array] the argument; its elements are not checked
      # @raise [InvalidRequest] for any other class
      # @api private
      def collection(headers)
        return headers if headers.is_a?(Hash) || headers.is_a?(Headers) || headers.is_a?(Array)

        raise InvalidRequest.of("headers", headers, "a Hash, Headers or an Array of pairs")
      end

      # @return [String] a field name, checked to be a token (RFC 9110 5.6.2)
      # @api private
      def field_name(name, argument = "headers")
        text = name.is_a?(Symbol) ? name.name : name
        text = text.tr("_", "-") if name.is_a?(Symbol) && text.ascii_only?
        if text.is_a?(String) && text.ascii_only? && TOKEN.match?(text)
          return frozen(text) if text.bytesize <= NAME_BYTES

          raise InvalidRequest, "#{argument}: a field name must have at most #{NAME_BYTES} bytes, got #{text.bytesize}"
        end

        # The caller may have passed a whole field as its name, so the message does not show the part that may be a
        # value.
        shown = name.class
        shown = "what begins with #{text.b[/\A[!#$%&'*+\-.^_`|~0-9A-Za-z]{0,40}/].inspect}" if text.is_a?(String)
        raise InvalidRequest, "#{argument}: must be a field name of letters, digits and !#$%&'*+-.^_`|~, got #{shown}"
      end

      # @param pair [Array(String, String)] user and password, whose encodings may differ
      # @return [String] the value of an Authorization field (RFC 7617)
      # @api private
      def basic(pair)
        "Basic #{[pair.map(&:b).join(":")].pack("m0")}"
      end

      # @param values [Array<String>] of one name
      # @return [String, nil] the values joined by ", "; BINARY when their encodings differ
      # @api private
      def joined(values)
        return values.first if values.size < 2

        values.join(", ")
      rescue Encoding::CompatibilityError
        values.map(&:b).join(", ")
      end

      # @param pairs [Array<Array(String, String)>]
      # @return [Hash{String => String}] names in lower case, and joined values
      # @api private
      def by_name(pairs)
        pairs.group_by { |name, _| -name.downcase }.transform_values { |found| joined(found.map(&:last)) }
      end

      # @return [Boolean] whether a field's value may be a credential
      # @api private
      def hidden?(name)
        !SHOWN.key?(name.downcase)
      end

      # @param pairs [Enumerable<Array(String, String)>]
      # @return [Array<Array(String, String)>] the pairs, with values that may be credentials hidden
      # @api private
      def redact(pairs)
        pairs.map { |name, value| [name, hidden?(name) ? Redacted::HIDDEN : value] }
      end

      # Merges two lists of pairs: the pairs of a name in the second list replace those in the first. A pair with a nil
      # value is kept: it removes a default.
      #
      # @return [Array<Array(String, String)>]
      # @api private
      def overlay(base, changes)
        return base if changes.empty?

        base.reject { |name, _| changes.any? { |changed, _| name.casecmp?(changed) } }.concat(changes)
      end

      private

      def checked_pairs(headers)
        return if headers.all? { |pair| pair.is_a?(Array) && pair.size == 2 }

        raise InvalidRequest, "headers: must be an Array of pairs; one of its elements is not a name and a value"
      end

      def field_value(name, value)
        text = case value
               when String then value
               when Symbol, Numeric then value.to_s
               else raise InvalidRequest.of("headers: #{name}", value.class, "a String, Symbol or Numeric")
               end
        bytes = text.ascii_only? ? text : text.b
        # The message does not show the value, because it may be a credential.
        if bytes.match?(FORBIDDEN)
          raise InvalidRequest, "headers: #{name}: must have no CR, LF, NUL or other control characters in its value"
        end

        padded?(bytes) ? OWS.strip(text) : frozen(text)
      end

      # White space around a value is not part of it (RFC 9110 5.5).
      def padded?(bytes) = bytes.start_with?(" ", "\t") || bytes.end_with?(" ", "\t")

      def frozen(text)
        text.frozen? ? text : text.dup.freeze
      end
    end

    # The fields of a response. They are parsed when a method needs them.
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
    # @return [String, nil] the value; the values of repeated fields are joined by ", " (RFC 9110 5.3)
    def [](name)
      return @response[name] if @response

      Headers.joined(get_all(name))
    end

    # @param name [String, Symbol]
    # @return [Array<String>] all values of that name, in order
    def get_all(name)
      name = name.name.tr("_", "-") if name.is_a?(Symbol)
      pairs.each_with_object([]) { |(known, value), found| found << value if known.casecmp?(name) }
    end
    alias values get_all

    # @param name [String, Symbol]
    # @param default [Object] returned when there is no such field
    # @yield [name] its value is returned when there is no such field
    # @return [String, Object] see #[]
    # @raise [KeyError] when there is no such field, and neither default nor block
    def fetch(name, *default)
      value = self[name]
      return value unless value.nil?
      return yield(name) if block_given?
      return default.first unless default.empty?

      raise KeyError.new("no header field #{name}", receiver: self, key: name)
    end

    # @return [Boolean] whether there is such a field
    def key?(name)
      !self[name].nil?
    end
    alias include? key?
    alias has_key? key?

    # Yields the name and value of each field; repeated fields are yielded separately.
    # @return [self, Enumerator] an Enumerator without a block
    def each(&block)
      return enum_for(:each) { size } unless block

      pairs.each(&block)
      self
    end

    # @return [Array<String>] the distinct names, each as it was first written
    def names = pairs.map(&:first).uniq(&:downcase)
    alias keys names

    # @return [Integer] number of fields; repeated fields are counted separately
    def size = pairs.size
    alias length size

    # @return [Boolean]
    def empty? = pairs.empty?

    # @return [Hash{String => String}] names in lower case; values of repeated fields joined as by #[]
    def to_h
      return @response._fields_by_name if @response

      Headers.by_name(pairs)
    end

    # @return [Array<Array(String, String)>] copies of the pairs of name and value
    def to_a = pairs.map(&:dup)

    def ==(other)
      other.is_a?(Headers) && comparable == other.comparable
    end
    alias eql? ==

    def hash = comparable.hash

    # Shows only the values of fields that are known to hold no credentials.
    def inspect
      "#<#{self.class} #{Headers.redact(pairs).map { |pair| pair.join(": ") }.join(" | ")}>"
    end

    # Marshal and YAML write the fields as #inspect shows them. To keep all values, write #to_a.
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
