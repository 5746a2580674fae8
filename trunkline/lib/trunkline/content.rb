# frozen_string_literal: true

require_relative "body"
require_relative "json_encoding"
require_relative "multipart"
require_relative "query"
require_relative "redacted"

module Trunkline
  # The content of a call's request: one of body:, json:, form: and multipart:, encoded, with its media type and length.
  #
  # @api private
  class Content
    include Redacted

    KINDS = %i[body json form multipart].freeze

    # @return [Object] the value of body:, a Multipart, or the encoded text of json: and form:
    attr_reader :source
    # @return [String, #next_chunk] the bytes for the engine
    attr_reader :producer
    # @return [Integer, nil] bytes; nil when unknown
    attr_reader :length
    # @return [String, nil] media type that is sent unless the caller sets Content-Type
    attr_reader :type

    # @param options [Hash{Symbol => Object}] options of a call, with one of KINDS
    # @return [Content]
    # @raise [InvalidRequest] for more than one of KINDS, and for a value that cannot be sent
    def self.of(options)
      kinds = KINDS.select { |kind| options.key?(kind) && (kind == :json || !options[kind].nil?) }
      raise InvalidRequest, "#{kinds.join(": and ")}: exclude each other; give one" if kinds.size > 1

      encode(kinds.first, options[kinds.first])
    end

    def self.encode(kind, value)
      case kind
      when :json then new(JSONEncoding.generate(value), "application/json")
      when :form then new(Query.encode(value, "form"), "application/x-www-form-urlencoded")
      when :multipart
        multipart = Multipart.new(value)
        new(multipart, multipart.content_type)
      else new(value, body: Body.from_option(value, "body"))
      end
    end
    private_class_method :encode

    def initialize(source, type = nil, body: Body.of(source))
      @source = source
      @type = type
      @body = body
      @length = @body.length
      @begun = false
      @producer = source.is_a?(String) ? source : @body
    end

    # @return [String, nil] see Body
    def next_chunk
      @begun = true
      @body.next_chunk
    end

    # @return [Boolean]
    def multipart? = source.is_a?(Multipart)

    # @return [Boolean] whether the content can be read more than once
    def repeatable? = @body.rewindable?

    # @return [Boolean] whether the content can be sent from its beginning: it is repeatable, or no chunk was read
    def rewindable? = !@begun || repeatable?

    def rewind
      @body.rewind if repeatable?
      @begun = false
    end

    # Closes a file that the body itself has opened.
    def release
      @body.release if @body.respond_to?(:release)
    end
  end
end
