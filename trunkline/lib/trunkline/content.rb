# frozen_string_literal: true

require "json"
require_relative "body"
require_relative "multipart"
require_relative "query"
require_relative "redacted"

module Trunkline
  # What a call sends as its content: one of body:, json:, form: and multipart:, with the fields that follow of it.
  #
  # @api private
  class Content
    include Redacted

    KINDS = %i[body json form multipart].freeze

    # @return [Object, nil] as the caller gave it, or as it was encoded
    attr_reader :source
    # @return [String, #next_chunk, nil] for the engine
    attr_reader :producer
    # @return [Integer, nil] bytes; nil when unknown
    attr_reader :length
    # @return [Array<Array(String, String)>] fields to send unless the caller set them
    attr_reader :fields

    # @param given [Hash{Symbol => Object}] a call's options
    # @return [Content]
    # @raise [InvalidRequest]
    def self.of(given)
      kinds = KINDS.select { |kind| given.key?(kind) && (kind == :json || !given[kind].nil?) }
      return NONE if kinds.empty?
      raise InvalidRequest, "#{kinds.join(": and ")}: exclude each other; give one" if kinds.size > 1

      encode(kinds.first, given[kinds.first])
    end

    def self.encode(kind, value)
      case kind
      when :json
        new(JSON.generate(value), [%w[Content-Type application/json], %w[Accept application/json]])
      when :form
        new(Query.encode(value, "form"), [%w[Content-Type application/x-www-form-urlencoded]])
      when :multipart
        multipart = Multipart.new(value)
        new(multipart, [["Content-Type", multipart.content_type]])
      else new(value)
      end
    rescue JSON::JSONError, EncodingError => error
      # Without its cause, which has the whole of what was given.
      raise InvalidRequest, "json: cannot be generated: #{error.message}", cause: nil
    end
    private_class_method :encode

    def initialize(source, fields = [])
      @source = source
      @fields = fields
      @body = Body.of(source) unless source.nil?
      @length = source.nil? ? 0 : @body.length
      @producer = source.is_a?(String) ? source : @body
    end

    # @return [Boolean] whether there is something to send, be it empty
    def given?
      !source.nil?
    end

    # @return [Boolean] whether it is known to have no byte
    def empty?
      length == 0 # rubocop:disable Style/NumericPredicate -- or nil
    end

    # @return [Boolean]
    def multipart?
      source.is_a?(Multipart)
    end

    # @return [Boolean] whether it can be sent again
    def rewindable?
      @body.nil? || @body.rewindable?
    end

    def rewind
      @body&.rewind
    end

    # Closes what the body itself has opened.
    def release
      @body.release if @body.respond_to?(:release)
    end

    NONE = new(nil).freeze
  end
end
