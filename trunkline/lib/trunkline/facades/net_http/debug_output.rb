# frozen_string_literal: true

require_relative "../../content"
require_relative "../../redacted"

module Trunkline
  module Facades
    module NetHTTP
      # Writes the lines that Net::HTTP writes to set_debug_output, for a session that Trunkline runs. As in Net::HTTP,
      # credentials are not hidden, and a body with a content coding is written undecoded. Received chunks are written
      # without their sizes.
      class DebugOutput
        include Redacted

        # Extends a Content, and writes each chunk that the engine reads from it.
        module TracedContent
          # @param output [DebugOutput]
          # @param chunked [Boolean]
          def trace_to(output, chunked)
            @output = output
            @chunked = chunked
          end

          def next_chunk
            super.tap { |text| trace(text) if text.nil? ? @chunked : !text.empty? }
          end

          private

          def trace(text)
            return @output.sent("0\r\n\r\n") if text.nil?

            @output.sent(*(@chunked ? ["#{text.bytesize.to_s(16)}\r\n", text, "\r\n"] : text))
          end
        end
        private_constant :TracedContent

        # @param output [#<<]
        def initialize(output)
          @output = output
        end

        # @param text [String]
        # @return [nil]
        def line(text)
          @output << "#{text}\n"
          nil
        end

        # @param strings [Array<String>] written as one line
        def sent(*strings)
          line("<- #{strings.map(&:dump).join}")
        end

        # @param text [String]
        def received(text)
          line("-> #{text.dump}")
        end

        # @param info [ConnectionInfo]
        # @param endpoint [String] host and port of the server, or of the proxy
        def connected(info, endpoint)
          line(info.reused? ? "opened before, by another session" : "opened")
          return unless info.tls_version

          line("starting SSL for #{endpoint}...")
          line("SSL established, protocol: #{info.tls_version}, cipher: #{info.cipher}")
        end

        # Writes a request; a Content is written when the engine reads it.
        #
        # @param adapter [RequestAdapter]
        def request(method, target, adapter)
          fields = adapter.fields.each_slice(2).map { |name, value| "#{name}: #{value}\r\n" }.join
          sent("#{method} #{target} HTTP/1.1\r\n#{fields}\r\n")
          case (content = adapter.content)
          when Content then content.extend(TracedContent).trace_to(self, adapter.length.negative?)
          when String then sent(content)
          end
        end

        # Writes the head of a response.
        #
        # @param response [Response]
        def head(response)
          received("HTTP/#{response.http_version} #{format("%03d", response.status)} #{response.reason}\r\n")
          response._pairs.each { |name, value| received("#{name}: #{value}\r\n") }
          received("\r\n")
        end
      end
    end
  end
end
