# frozen_string_literal: true

require_relative "../arguments"
require_relative "../event_stream_parser"

module Trunkline
  class Response
    # A body that is an event stream (WHATWG HTML 9.2).
    module Events
      # Yields each event as soon as its last byte has arrived. The response's Content-Type is not checked. When the
      # block is left early, the connection is closed, because the rest of the stream would follow on it.
      #
      #   client.post("/v1/messages", json: question, stream: true).each_event { |event| puts event.data }
      #
      # @param limit [Integer, nil] maximum bytes of the lines of one event, without comments; nil for no limit
      # @yield [event]
      # @yieldparam event [ServerSentEvent]
      # @return [self, Enumerator]
      # @raise [EventTooLarge] and what reading raises (see BodyReading)
      # @raise [InvalidRequest]
      def each_event(limit: EventStreamParser::LIMIT, **others, &block)
        Arguments.refuse_keywords(others, "each_event", "limit:")
        # On JRuby, enum_for does not work here: its lazy enumerators pass keywords on as a Hash.
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
