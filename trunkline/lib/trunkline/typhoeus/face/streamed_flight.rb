# frozen_string_literal: true

require_relative "flight"

module Trunkline
  module TyphoeusFace
    # A request that tells of its answer while it comes: its head, each piece of its body, how far it is. What is taken:
    # the Response as soon as its head is there, Strings, nil at the end; or an error.
    class StreamedFlight < Flight
      # @return [Boolean]
      def streamed? = true

      # @return [Integer] bytes
      def received = @received || 0

      # @param result [Response, String, nil, Exception]
      # @return [Composer::Plan, nil] what to send next
      def take(result)
        case result
        when Response then head(result)
        when String then piece(result)
        when nil then return ended
        else
          fail_with(result)
        end
        nil
      end

      private

      def head(response)
        @response = response
        @received = 0
        @body = String.new
        @held = passing?(response) ? [] : nil
        tell_head unless @held
      end

      # An answer that may only lead to another: nobody is told of it before that is known.
      def passing?(response)
        (@recipe.redirect && Many::Followed.redirect?(response)) || (@followed && response.status == 401)
      end

      def tell_head
        @told = ::Typhoeus::Response.of(Outcome.new(self, @response, :ok, nil, String.new))
        @told.request = @request
        abort_if(@request.execute_headers_callbacks(@told).include?(:abort))
        progress unless over?
      end

      # Redirects have bodies that are nobody's.
      def piece(bytes)
        @received += bytes.bytesize
        return tell_piece(bytes) unless @held

        @held << bytes if @response.status == 401
      end

      def tell_piece(bytes)
        progress
        return @body << bytes unless @request.streaming?

        abort_if(@request.on_body.map { |block| block.call(bytes, @told) }.include?(:abort))
      end

      def progress
        total = @response["content-length"].to_i
        up = [upload_size, 0].max
        ::Typhoeus.on_progress_blocks&.each { |block| block.call(total, @received, up, up) }
        @request.on_progress_blocks&.each { |block| block.call(total, @received, up, up) }
      end

      def abort_if(wanted)
        finish(Outcome.new(self, @response, :write_error, nil, String.new)) if wanted && !over?
      end

      # @return [Composer::Plan, nil]
      def ended
        if @held || @followed
          result = follow(@response)
          return @plan = result if result.is_a?(Composer::Plan)
          return fail_with(result) && nil if result.is_a?(Exception)
        end
        tell_held if @held
        conclude unless over?
      end

      def tell_held
        tell_head
        @held.each { |bytes| tell_piece(bytes) unless over? }
      end

      def conclude
        failed = @recipe.fails_on_error? && @response.status >= 400
        body = failed ? String.new : Outcome.in_charset(@body, @response["content-type"])
        finish(Outcome.new(self, @response, failed ? :http_returned_error : :ok, nil, body))
        nil
      end
    end
  end
end
