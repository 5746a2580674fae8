# frozen_string_literal: true

require_relative "../errors"
require_relative "../event_stream_parser"
require_relative "../interrupts"
require_relative "../options"
require_relative "../redacted"

module Trunkline
  class Scheduler
    # What takes the body of one answer among many, as it comes: on_chunk: or on_event: of the call. An answer that is
    # no success is not for them: it keeps its body, as other answers do.
    class StreamBlocks
      include Redacted

      NAMES = Options::OF_MANY
      # Bytes that are kept of a body which is not for them; a larger one is an error.
      KEPT = 1024 * 1024

      # @param options [Hash{Symbol => Object}] of the call
      # @return [StreamBlocks, nil]
      # @raise [InvalidRequest]
      def self.of(options)
        return unless options.key?(:on_chunk) || options.key?(:on_event)

        given = options.slice(*NAMES).compact
        return if given.empty?
        raise InvalidRequest, "on_chunk: and on_event: cannot both take the body" if given.size > 1

        new(**given.to_h { |name, block| [name, Options.check(name, block)] })
      end

      # @return [Boolean] whether a block has had something of the body: the call is not made again then
      def told? = !!@told

      # @param on_chunk [#call, nil]
      # @param on_event [#call, nil]
      def initialize(on_chunk: nil, on_event: nil)
        @on_chunk = on_chunk
        @on_event = on_event
      end

      # @param part [Response, String] its head, or the bytes that come next
      # @return [void]
      # @raise what a block raises
      def take(part)
        return begin_answer(part) if part.is_a?(Response)
        return keep(part) unless @response.status.between?(200, 299)

        @told = true
        return @on_chunk.call(part, @response) if @on_chunk

        @parser.feed(part) { |event| @on_event.call(event, @response) }
      end

      # @return [Response] whose body has come
      def finish
        @response._hold_rest(@kept) if @kept
        @response
      end

      private

      def begin_answer(response)
        @response = response
        @kept = nil
        @parser = EventStreamParser.new(response: response) if @on_event
      end

      def keep(part)
        @kept ||= +"".b
        @kept << part
        return if @kept.bytesize <= KEPT

        raise BodyTooLarge.about(@response, "was answered #{@response.status} and more bytes than are kept of an " \
                                            "answer that is no success (limit: #{KEPT}); the server has the " \
                                            "whole request")
      end
    end
  end
end
