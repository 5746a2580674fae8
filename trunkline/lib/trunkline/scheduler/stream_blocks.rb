# frozen_string_literal: true

require_relative "../errors"
require_relative "../event_stream_parser"
require_relative "../interrupts"
require_relative "../options"
require_relative "../redacted"

module Trunkline
  class Scheduler
    # Passes the body of one response among many to the call's on_chunk: or on_event: as it arrives. The body of a
    # response other than 2xx is not passed to them, but kept, as in other responses.
    class StreamBlocks
      include Redacted

      NAMES = Options::BATCH_ONLY
      # Maximum in bytes of a body that is kept; a larger one is an error.
      MAX_KEPT = 1024 * 1024

      # @param options [Hash{Symbol => Object}] the options of the call
      # @return [StreamBlocks, nil]
      # @raise [InvalidRequest]
      def self.of(options)
        return unless options.key?(:on_chunk) || options.key?(:on_event)

        blocks = options.slice(*NAMES).compact
        return if blocks.empty?
        raise InvalidRequest, "on_chunk: and on_event: cannot both take the body" if blocks.size > 1

        new(**blocks.to_h { |name, block| [name, Options.check(name, block)] })
      end

      # @return [Boolean] whether a block was passed a part of the body: then the call is not retried
      def body_delivered? = !!@body_delivered

      # @param on_chunk [#call, nil]
      # @param on_event [#call, nil]
      def initialize(on_chunk: nil, on_event: nil)
        @on_chunk = on_chunk
        @on_event = on_event
      end

      # Has no block: the Scheduler yields the parts of the response to its caller.
      NONE = new.freeze

      # @param part [Response, String] the response with its head, or the next bytes of its body
      # @return [void]
      # @raise exceptions of the blocks
      def take(part)
        return begin_response(part) if part.is_a?(Response)
        return keep(part) unless @response.status.between?(200, 299)

        @body_delivered = true
        return @on_chunk.call(part, @response) if @on_chunk

        @parser.feed(part) { |event| @on_event.call(event, @response) }
      end

      # @return [Response] the response, whose body is complete
      def finish
        @response._hold_rest(@kept_body) if @kept_body
        @response
      end

      private

      def begin_response(response)
        @response = response
        @kept_body = nil
        @parser = EventStreamParser.new(response: response) if @on_event
      end

      def keep(part)
        @kept_body ||= +"".b
        @kept_body << part
        return if @kept_body.bytesize <= MAX_KEPT

        raise BodyTooLarge.about(@response, "was answered #{@response.status} and more bytes than are kept of an " \
                                            "answer that is no success (limit: #{MAX_KEPT}); the server has the " \
                                            "whole request")
      end
    end
  end
end
