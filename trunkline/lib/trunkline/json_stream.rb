# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "redacted"

module Trunkline
  # Yields the values of a JSON body while it arrives. The engine finds the values, and parses those whose result
  # depends neither on options nor on the version of the json gem. JSON.parse, or json_decoder:, parses the others.
  # JSON.parse gets all complete values at once, because one call for many small values is faster than one call for
  # each.
  #
  # @api private
  class JSONStream
    include Redacted

    # Maximum size of one value in bytes, unless limit: is given.
    VALUE_BYTES = 16 * 1024 * 1024
    # The default of max_nesting: in JSON.parse.
    MAX_NESTING = 100
    # Options of JSON.parse that have the same effect when the value is an element of an array.
    SHARED_OPTIONS = %i[symbolize_names freeze max_nesting allow_nan allow_trailing_comma allow_control_characters
                        allow_invalid_escape allow_duplicate_key create_additions decimal_class object_class].freeze
    # Options of JSON.parse that the engine supports.
    ENGINE_OPTIONS = %i[symbolize_names freeze max_nesting allow_nan allow_trailing_comma allow_control_characters
                        allow_invalid_escape allow_duplicate_key].freeze
    LINES = %w[x-ndjson ndjson jsonl x-jsonl jsonlines x-jsonlines json-lines x-json-lines x-ldjson ldjson
               stream+json x-json-stream].freeze

    # @param response [Response]
    # @param path [String, Array<String, Symbol, Integer>, nil] see Response#each_json
    # @param limit [Integer, nil] maximum size of a value in bytes; nil: no limit
    # @param options [Hash] of JSON.parse, or of json_decoder:
    # @raise [InvalidRequest] for an invalid limit
    def initialize(response, path, limit, options)
      unless limit.nil? || (limit.is_a?(Integer) && limit.positive?)
        raise InvalidRequest.of("limit", limit, "a positive number of bytes, or nil for any")
      end

      @response = response
      @path = path && segments(path)
      @limit = limit
      @options = options
      @decoder = response.request.origin&.json_decoder
      @max_nesting = options.fetch(:max_nesting, @decoder ? 0 : MAX_NESTING) || 0
      read = @decoder.nil? && (options.keys - ENGINE_OPTIONS).empty?
      @batches = Engine::JSONBatches.new(form, @path || [],
                                         options.merge(limit: limit, max_nesting: @max_nesting, read: read))
    end

    # @yield [value] each value, parsed
    # @raise [DecodeError, BodyTooLarge]
    def each(&block)
      @response._each_json_chunk do |chunk|
        from = 0
        while from < chunk.bytesize
          from = @batches.feed(chunk, from)
          take(&block)
        end
      end
      @batches.finish
      take(&block)
    end

    private

    def segments(path)
      names = path.is_a?(Array) ? path.map(&:to_s) : path.to_s.split(".", -1)
      names.map { |name| name.encode(Encoding::UTF_8) unless name == "*" }
    end

    def form
      return :document if @path

      type = @response.content_type.to_s.delete_prefix("application/").delete_prefix("text/")
      return :lines if LINES.include?(type)

      type == "json-seq" || type.end_with?("+json-seq") ? :sequence : :detected
    end

    def take(&block)
      while (batch = @batches.take(&block))
        values = together? && parse_together(batch)
        values ? values.each(&block) : @batches.size.times { |number| yield parse(batch, number) }
      end
      failure = @batches.failure
      fail_with(*failure) if failure
    end

    def together? = @decoder.nil? && (@options.keys - SHARED_OPTIONS).empty?

    # @return [Array, nil] nil when a value is invalid: each is then parsed separately to find which one
    def parse_together(batch)
      JSON.parse(batch, **@options, max_nesting: 0)
    rescue JSON::ParserError, EncodingError
      nil
    end

    def parse(batch, number)
      from, length, *position = @batches.value(number)
      options = @decoder ? @options : @options.merge(max_nesting: 0)
      @response._decode_json(batch.byteslice(from, length), options) { "in the value #{describe(*position)}" }
    end

    def fail_with(kind, reason, *position)
      where = describe(*position)
      if kind == :too_large
        raise BodyTooLarge.about(@response, "was answered #{@response.status} and a value of JSON larger than " \
                                            "allowed (limit: #{@limit}), #{where}; the server has the whole request")
      end

      reason = "nesting of #{@max_nesting + 1} is too deep" if kind == :too_deep
      cause = kind == :too_deep ? JSON::NestingError : JSON::ParserError
      raise @response._json_error("#{reason} #{where}"), cause: cause.new("#{reason} #{where}")
    end

    # Member names that come from the body are not quoted, because they may be credentials.
    def describe(byte, line, positions)
      segments = @path || [nil]
      around = positions.zip(segments).map { |index, name| index || name || "*" }
      "at byte #{byte}, line #{line}#{", at #{around.join(".")}" unless around.empty?}"
    end
  end
end
