# frozen_string_literal: true

require_relative "transfer"

module Trunkline
  module Facades
    module Typhoeus
      # A Transfer whose callbacks on_headers, on_body and on_progress are called while the response arrives. It
      # receives the Response when the head has arrived, a String for each chunk of the body, nil at the end; or an
      # error.
      class StreamedTransfer < Transfer
        # @return [Boolean]
        def streamed? = true

        # @return [Integer] bytes of the body
        def received = @received || 0

        # @param result [Response, String, nil, Exception]
        # @return [Trunkline::Request, nil] the next request to send
        def receive(result)
          case result
          when Response then receive_head(result)
          when String then receive_chunk(result)
          when nil then return receive_end
          else
            finish_failed(result)
          end
          nil
        end

        private

        def receive_head(response)
          @response = response
          @received = 0
          @body = String.new
          @buffered = provisional?(response) ? [] : nil
          report_head unless @buffered
        end

        # A redirect or a challenge may lead to another request. It is reported to the callbacks only if it is final.
        def provisional?(response)
          (@config.redirect && Policy::Redirect.redirect?(response)) || (@flow && response.status == 401)
        end

        def report_head
          @partial = ::Typhoeus::Response.of(ResponseAdapter.new(self, @response, :ok, nil, String.new))
          @partial.request = @request
          abort_if(@request.execute_headers_callbacks(@partial).include?(:abort))
          report_progress unless finished?
          finish_if_too_large(@response["content-length"].to_i)
        end

        # The body of a redirect is discarded.
        def receive_chunk(bytes)
          @received += bytes.bytesize
          return if finish_if_too_large(@received)
          return report_chunk(bytes) unless @buffered

          @buffered << bytes if @response.status == 401
        end

        def report_chunk(bytes)
          report_progress
          return @body << bytes unless @request.streaming?

          abort_if(@request.on_body.map { |block| block.call(bytes, @partial) }.include?(:abort))
        end

        def report_progress
          total = @response["content-length"].to_i
          up = [upload_size, 0].max
          ::Typhoeus.on_progress_blocks&.each { |block| block.call(total, @received, up, up) }
          @request.on_progress_blocks&.each { |block| block.call(total, @received, up, up) }
        end

        # The engine's own limit would end the request without a status, which libcurl reports.
        def finish_if_too_large(bytes)
          maximum = @config.maximum_bytes
          return if maximum.nil? || bytes <= maximum || finished?

          error = BodyTooLarge.new("the body is larger than allowed (maxfilesize: #{maximum})",
                                   request: @http_request, phase: :read, sent: :all)
          finish(ResponseAdapter.new(self, @response, :filesize_exceeded, error, String.new))
        end

        def abort_if(wanted)
          finish(ResponseAdapter.new(self, @response, :write_error, nil, String.new)) if wanted && !finished?
        end

        # @return [Trunkline::Request, nil]
        def receive_end
          if @buffered || @flow
            result = follow(@response)
            return @http_request = result if result.is_a?(Trunkline::Request)
            return finish_failed(result) && nil if result.is_a?(Exception)
          end
          report_buffered if @buffered
          finish_streamed unless finished?
        end

        def report_buffered
          report_head
          @buffered.each { |bytes| report_chunk(bytes) unless finished? }
        end

        def finish_streamed
          failed = @config.fails_on_error? && @response.status >= 400
          body = failed ? String.new : ResponseAdapter.in_charset(@body, @response["content-type"])
          finish(ResponseAdapter.new(self, @response, failed ? :http_returned_error : :ok, nil, body))
          nil
        end
      end
    end
  end
end
