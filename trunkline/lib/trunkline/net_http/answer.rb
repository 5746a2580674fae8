# frozen_string_literal: true

require "net/http"
require_relative "../redacted"
require_relative "failures"

module Trunkline
  module NetHTTP
    # Makes Net::HTTP's responses of Trunkline's.
    #
    # @api private
    module Answer
      # In front of Net::HTTPResponse's own method, which reads from a socket.
      module Body
        private

        def read_body_0(dest)
          @socket.is_a?(Source) ? @socket.pour(self, dest) : super
        end
      end
      Net::HTTPResponse.prepend(Body)

      # @param response [Response]
      # @param req [Net::HTTPGenericRequest]
      # @param http [Net::HTTP]
      # @return [Net::HTTPResponse]
      def self.of(response, req, http)
        answer = plain(response.http_version, response.status, response.reason, response.headers)
        answer.decode_content = req.decode_content
        answer.uri = req.uri
        if answer.respond_to?(:ignore_eof=)
          answer.ignore_eof = http.ignore_eof
          answer.body_encoding = http.response_body_encoding
        end
        answer
      end

      # @return [Net::HTTPResponse] what its head says, and no more
      def self.plain(version, status, reason, headers)
        code = format("%03d", status)
        Net::HTTPResponse.send(:response_class, code).new(version, code, reason).tap do |answer|
          fields = answer.instance_variable_get(:@header)
          headers.each { |name, value| (fields[name.downcase] ||= []) << (value.ascii_only? ? value : value.b) }
        end
      end

      # Where an answer's body comes from: stands where the response keeps its socket while it is being read.
      class Source
        include Redacted

        CODING = /\A(?:x-)?#{Regexp.union(Engine::CODINGS.split(", "))}\z/i
        PLAIN = /\A(?:none|identity)\z/i
        # net-http since 0.3 tells the length that an inflated body really has.
        TELLS_LENGTH = Net::HTTPResponse.const_get(:Inflater).method_defined?(:bytes_inflated)
        private_constant :CODING, :PLAIN, :TELLS_LENGTH

        def initialize(response, req, session)
          @response = response
          @decode = req.decode_content
          @session = session
        end

        # Asked before a body is read: it can be, until the block that got the answer has been left.
        def closed?
          false
        end

        # For an answer that Net::HTTP reads no body of: it is over, whatever the server has sent.
        def finish
          Failures.translated(@session) { @response.body }
        end

        # @param answer [Net::HTTPResponse]
        # @param dest [#<<]
        def pour(answer, dest)
          coding = answer["content-encoding"] if @decode
          inflated = coding ? coding.split(/[ \t]*,[ \t]*/).all?(CODING) : false
          bytes = dest.is_a?(String) && dest.empty? ? fill(dest, inflated) : stream(answer, dest)
          answer.delete("content-encoding") if inflated || PLAIN.match?(coding.to_s)
          answer["content-length"] = bytes.to_s if inflated && TELLS_LENGTH && answer.key?("content-length")
        end

        private

        # Net::HTTP appends what it reads, binary, to an empty String; what is inflated stays binary.
        def fill(dest, inflated)
          text = Failures.translated(@session) { @response.body }.force_encoding(Encoding::BINARY)
          text.force_encoding(dest.encoding) if !inflated && text.ascii_only?
          dest.replace(text).bytesize
        end

        def stream(answer, dest)
          bytes = 0
          while (chunk = Failures.translated(@session) { @response.read })
            bytes += chunk.bytesize
            dest << chunk
          end
          dest << "".b if bytes.zero? && !answer.chunked?
          bytes
        end
      end
    end
  end
end
