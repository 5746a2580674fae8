# frozen_string_literal: true

require_relative "arguments"
require_relative "body"
require_relative "headers"
require_relative "loading"
require_relative "redacted"

module Trunkline
  # One value of multipart: with a filename, a media type or header fields of its own.
  #
  #   client.post("/photos", multipart: {
  #     title: "Sea",
  #     photo: Trunkline::Part.new(io, filename: "sea.png", content_type: "image/png")
  #   })
  class Part
    include Redacted

    TAKES = "what is sent, filename:, content_type: and headers:"
    private_constant :TAKES

    # @return [String, IO, Pathname, Enumerable, #call] the content of the part
    attr_reader :body
    # @return [String, nil] the filename that is sent; nil for none
    attr_reader :filename
    # @return [String, nil] the media type that is sent; nil for none
    attr_reader :content_type
    # @return [Array<Array(String, String)>] names and values of further header fields
    attr_reader :headers

    # @param value [Object] what a caller gave in multipart:
    # @return [Part]
    # @raise [InvalidRequest]
    # @api private
    def self.of(value)
      case value
      when Part then value
      when String then new(value)
      when Symbol, Numeric, true, false then new(value.to_s)
      when nil then new("")
      when Hash then of_hash(value)
      else
        return new(value) if value.respond_to?(:read) || value.respond_to?(:to_path)

        raise InvalidRequest.of("multipart", value, "made of Strings, Numerics, IOs, Pathnames and Trunkline::Part")
      end
    end

    # Takes the Hash that Rack makes of an uploaded file ({ tempfile:, filename:, type: }), or that Active Storage takes
    # for an attachment ({ io:, filename:, content_type: }).
    def self.of_hash(hash)
      fields = hash.transform_keys(&:to_s)
      body = fields["tempfile"] || fields["io"]
      if body.nil?
        raise InvalidRequest, "multipart: a Hash must be a file with tempfile: (or io:), filename: and type: (or " \
                              "content_type:); fields of a nested name are given as \"user[name]\" => \"...\""
      end

      new(body, filename: fields["filename"], content_type: fields["type"] || fields["content_type"])
    end
    private_class_method :of_hash

    # @param body [String, IO, Pathname, Enumerable, #call] the content; a Pathname is opened when its part is sent, and
    #   closed afterwards
    # @param filename [String, nil, false] by default the original_filename of an upload, or the name of a file; false
    #   for none
    # @param content_type [String, nil] by default the content_type of an upload; else, with a filename, the type of its
    #   extension, or application/octet-stream if the extension is unknown
    # @param headers [Hash] further header fields of the part
    # @raise [InvalidRequest] for an invalid filename or header field, or an unknown argument
    def initialize(body, *more, filename: nil, content_type: nil, headers: {}, **others)
      Arguments.refuse_more(more, "Part", TAKES)
      Arguments.refuse_keywords(others, "Part", TAKES)
      @body = body
      @filename = filename.nil? ? Part.name_of(body) : filename || nil
      unless @filename.nil? || Part.filename?(@filename)
        raise InvalidRequest.of("multipart: filename", filename, "a String without NUL, not in UTF-16, or false")
      end

      @content_type = content_type || Part.declared_type(body) || (@filename && Part.type_of(@filename))
      @headers = Headers.pairs(headers)
      freeze
    end

    # @return [Boolean]
    # @api private
    def self.filename?(value)
      value.is_a?(String) && value.encoding.ascii_compatible? && !value.b.include?("\0")
    end

    # @return [String, nil] the name that an upload had, or the base name of a file's path
    # @api private
    def self.name_of(body)
      path = body.original_filename if body.respond_to?(:original_filename)
      path ||= body.to_path if body.respond_to?(:to_path)
      File.basename(path) if path.is_a?(String)
    end

    # @return [String, nil] the content_type of an upload
    # @api private
    def self.declared_type(body)
      type = body.content_type if body.respond_to?(:content_type)
      type if type.is_a?(String) && !type.empty?
    end

    # @return [String] the media type for the filename's extension
    # @api private
    def self.type_of(filename)
      type = Loading.in_thread_if_needed do
        require "mini_mime"
        MiniMime.lookup_by_filename(filename.b) # reads a file, too; fails for broken UTF-8
      end
      type&.content_type || "application/octet-stream"
    end
  end
end
