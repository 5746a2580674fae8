# frozen_string_literal: true

require "net/http"
require_relative "../../engine"
require_relative "../../redacted"
require_relative "errors"

module Trunkline
  module Facades
    module NetHTTP
      # The body of a response. Takes the place of the socket in a Net::HTTPResponse while its body is read.
      class BodySource
        include Redacted

        # Prepended to Net::HTTPResponse, whose own method reads from a socket.
        module Patch
          private

          def read_body_0(dest)
            return super unless @socket.is_a?(BodySource)
            return @socket.read_into(dest, self) unless @socket.traced?

            inflater { |source| source.read_all(dest) }
          end
        end
        Net::HTTPResponse.prepend(Patch)

        CODING = /\A(?:gzip|x-gzip|deflate)\z/i
        IDENTITY = /\A(?:none|identity)\z/i
        # net-http since 0.3 sets Content-Length to the length of the decoded body.
        SETS_LENGTH = Net::HTTPResponse.const_get(:Inflater).method_defined?(:bytes_inflated)
        private_constant :CODING, :IDENTITY, :SETS_LENGTH

        # @param response [Response] the response to read
        # @param req [Net::HTTPGenericRequest]
        # @param session [Session]
        def initialize(response, req, session)
          @response = response
          @decode = req.decode_content
          @session = session
        end

        # Net::HTTPResponse calls this before it reads a body. The body can be read until the caller's block has
        # returned.
        def closed?
          false
        end

        # Ends a response whose body Net::HTTP does not read, by reading any body that the server has sent.
        def finish
          Errors.convert_errors(@session) { @response.body }
        end

        def traced? = !@session.trace.nil?

        # Appends the body to dest as it was received. Net::HTTP's own decoder calls it, too.
        #
        # @param dest [#<<]
        def read_all(dest)
          trace = @session.trace
          length = @response["content-length"]
          trace.line("reading #{length ? "#{length} bytes" : "all"}...")
          bytes = each_chunk do |chunk|
            trace.received(chunk)
            dest << chunk
          end
          dest << "" if bytes.zero?
          trace.line("read #{bytes} bytes")
        end

        # Appends the body to dest, and changes the fields of the response as Net::HTTP does when it decodes.
        #
        # @param dest [#<<]
        # @param converted [Net::HTTPResponse]
        def read_into(dest, converted)
          coding = converted["content-encoding"] if @decode && !converted.key?("content-range")
          decoded = CODING.match?(coding.to_s)
          bytes = dest.is_a?(String) && dest.empty? ? fill(dest, decoded) : stream(dest, converted)
          converted.delete("content-encoding") if decoded || IDENTITY.match?(coding.to_s)
          converted["content-length"] = bytes.to_s if decoded && SETS_LENGTH && converted.key?("content-length")
        end

        private

        # As in Net::HTTP, an ASCII body that was not decoded keeps the encoding of dest; every other body is binary.
        def fill(dest, decoded)
          text = Errors.convert_errors(@session) { @response.body }.force_encoding(Encoding::BINARY)
          text.force_encoding(dest.encoding) if !decoded && text.ascii_only?
          dest.replace(text).bytesize
        end

        def stream(dest, converted)
          bytes = each_chunk { |chunk| dest << chunk }
          dest << "".b if bytes.zero? && !converted.chunked?
          bytes
        end

        # @return [Integer] bytes
        def each_chunk
          bytes = 0
          while (chunk = Errors.convert_errors(@session) { @response.next_bytes })
            bytes += chunk.bytesize
            yield chunk
          end
          bytes
        end
      end
    end
  end
end
