# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "redacted"
require_relative "server_sent_event"

module Trunkline
  # Parses an event stream (WHATWG HTML 9.2.6) from any source of bytes. Response#each_event uses it.
  #
  #   parser = Trunkline::EventStreamParser.new
  #   parser.feed("data: one\n\nda") { |event| puts event.data }
  #   parser.feed("ta: two\n\n") { |event| puts event.data }
  #
  # An event is complete when the empty line after it has been fed; an incomplete last event is dropped. The engine
  # defines #<< (feeds a chunk, returns self), #next_event (a ServerSentEvent, or nil when more bytes are needed; raises
  # EventTooLarge), #last_event_id (String or nil: the id of the last complete event) and #retry (Float, the last
  # reconnection time of the stream in seconds, or nil). A parser must not be used by two threads at once.
  class EventStreamParser
    include Redacted

    # Default of limit: 16 MiB.
    LIMIT = 16 * 1024 * 1024

    # @param limit [Integer, nil] maximum bytes of the lines of one event, without comments; nil: no limit
    # @param last_event_id [String, nil] the id of events until the stream sets another one
    # @param response [Response, nil] the response whose body is parsed, for errors
    # @raise [InvalidRequest] when limit is not a positive Integer, or last_event_id not a String
    def initialize(limit: LIMIT, last_event_id: nil, response: nil)
      unless limit.nil? || (limit.is_a?(Integer) && limit.positive?)
        raise InvalidRequest.of("limit", limit, "a number of bytes, or nil")
      end
      unless last_event_id.nil? || last_event_id.is_a?(String)
        raise InvalidRequest.of("last_event_id", last_event_id, "a String")
      end

      @limit = limit
      @response = response
      _begin(limit, last_event_id)
    end

    # Feeds bytes, and yields the events that they complete. When the block is left early, the next call yields the
    # remaining events first.
    #
    # @param chunk [String] the next bytes of the stream
    # @yield [event] each complete ServerSentEvent
    # @return [nil]
    # @raise [EventTooLarge] when an event exceeds limit
    def feed(chunk)
      self << chunk
      while (event = next_event)
        yield event
      end
    end

    private

    def too_large
      message = "an event is larger than allowed (limit: #{@limit} bytes)"
      return EventTooLarge.new(message, phase: :read) unless @response

      EventTooLarge.about(@response, "was answered #{@response.status}, and #{message}")
    end
  end
end
