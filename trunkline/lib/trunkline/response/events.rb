# frozen_string_literal: true

require_relative "../arguments"
require_relative "../event_stream_parser"

module Trunkline
  class Response
    # A body that is an event stream (WHATWG HTML 9.2).
    module Events
      # Each event is yielded as soon as its last byte is there. The type of the answer is not looked at. When the block
      # is left early, the connection is closed: the rest of the stream is on it.
      #
      #   client.post("/v1/messages", json: question, stream: true).each_event { |event| puts event.data }
      #
      # @param limit [Integer, nil] bytes of the lines of one event, comments not counted; nil: any
      # @yield [event]
      # @yieldparam event [ServerSentEvent]
      # @return [self, Enumerator]
      # @raise [EventTooLarge] and what reading raises (see BodyReading)
      # @raise [InvalidRequest]
      def each_event(limit: EventStreamParser::LIMIT, **others, &block)
        Arguments.refuse_keywords(others, "each_event", "limit:")
        # JRuby's lazy enumerators hand keywords of enum_for on as a Hash.
        return Enumerator.new { |out| each_event(limit: limit) { |event| out << event } } unless block

        parser = EventStreamParser.new(limit: limit, response: self)
        begin
          while (chunk = next_bytes)
            parser.feed(chunk, &block)
          end
        ensure
          close
        end
        self
      end
    end
  end
end
