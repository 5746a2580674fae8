# frozen_string_literal: true

require "securerandom"
require_relative "body"
require_relative "params"
require_relative "part"
require_relative "redacted"

module Trunkline
  # A multipart/form-data body (RFC 7578). Its parts are streamed one after the other; files are never read whole.
  # Implements the interface of Body.
  #
  # @api private
  class Multipart
    include Redacted

    ALLOWED = "a Hash or an Array of pairs of name and value"

    # @return [String]
    attr_reader :boundary
    # @return [Array<Array(String, Part)>] names and parts
    attr_reader :parts
    # @return [Integer, nil] bytes in all; nil when a part's length is unknown
    attr_reader :length

    # @param values [Hash, Array<Array>] values by name; an Array as value makes one part for each of its elements
    # @param boundary [String] a text that occurs in no part
    # @raise [InvalidRequest] for values that cannot be sent
    def initialize(values, boundary: "trunkline-#{SecureRandom.hex(16)}")
      @boundary = boundary
      @parts = parts_of(values)
      @pieces = @parts.flat_map { |name, part| piece(name, part) } << Body::StringBody.new("--#{boundary}--\r\n")
      @length = @pieces.sum(&:length) if @pieces.all?(&:length)
      @next = 0
    end

    # @return [String]
    def content_type
      "multipart/form-data; boundary=#{boundary}"
    end

    def next_chunk
      while (piece = @pieces[@next])
        chunk = piece.next_chunk
        return chunk if chunk

        @next += 1
      end
    end

    def rewindable? = @pieces.all?(&:rewindable?)

    def rewind
      @pieces.each(&:rewind)
      @next = 0
    end

    def release
      @pieces.each { |piece| piece.release if piece.respond_to?(:release) }
    end

    private

    def parts_of(values)
      values = Params.plain("multipart", values)
      raise InvalidRequest.of("multipart", values, ALLOWED) unless values.is_a?(Hash) || values.is_a?(Array)

      values.flat_map do |name, value|
        raise InvalidRequest.of("multipart", values, ALLOWED) unless name.is_a?(String) || name.is_a?(Symbol)

        (value.is_a?(Array) ? value : [value]).map { |one| [name.to_s, Part.of(one)] }
      end
    end

    def piece(name, part)
      [Body::StringBody.new(head(name, part)), Body.from_option(part.body, "multipart"), Body::StringBody.new("\r\n")]
    end

    def head(name, part)
      disposition = "form-data; name=\"#{quoted(name)}\""
      disposition << "; filename=\"#{quoted(part.filename)}\"" if part.filename
      fields = [["Content-Disposition", disposition]]
      fields << ["Content-Type", one_line(part.content_type)] if part.content_type
      fields.concat(part.headers)
      lines = fields.map { |field, value| "#{field}: #{value}\r\n".b }
      "--#{boundary}\r\n".b << lines.join << "\r\n"
    end

    # As in browsers, UTF-8 is sent unencoded, and characters that would end the value are percent-encoded (RFC 7578 4.2
    # allows both). filename* (RFC 2231) is forbidden there.
    def quoted(text)
      bytes = (text.encoding == Encoding::BINARY ? text : text.encode(Encoding::UTF_8)).b
      raise InvalidRequest.of("multipart: name", text, "free of NUL") if bytes.include?("\0")

      bytes.gsub(/["\r\n]/n) { |char| format("%%%02X", char.ord) }
    rescue EncodingError
      raise InvalidRequest.of("multipart: name", text.b, "in an encoding that UTF-8 can hold")
    end

    def one_line(value)
      return value if value.is_a?(String) && !value.match?(/[\r\n\0]/)

      raise InvalidRequest.of("multipart: content_type", value, "a media type on one line")
    end
  end
end
