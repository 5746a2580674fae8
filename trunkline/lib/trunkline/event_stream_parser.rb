# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "redacted"
require_relative "server_sent_event"

module Trunkline
  # Takes an event stream apart (WHATWG HTML 9.2.6), wherever its bytes come from. Response#each_event has one.
  #
  #   parser = Trunkline::EventStreamParser.new
  #   parser.feed("data: one\n\nda") { |event| puts event.data }
  #   parser.feed("ta: two\n\n") { |event| puts event.data }
  #
  # An event is there as soon as the empty line is that ends it; one that is not ended is none. From the engine itself:
  # #<< (takes a chunk, returns self), #next_event (ServerSentEvent, or nil when more must be fed; raises
  # EventTooLarge), #last_event_id (String or nil: that of the last event that ended), #retry (Float, seconds, the last
  # that the stream asked for; or nil). Not to be used by two threads at once.
  class EventStreamParser
    include Redacted

    # Bytes: of the lines of one event, without comments.
    LIMIT = 16 * 1024 * 1024

    # @param limit [Integer, nil] bytes of the lines of one event; nil: any
    # @param last_event_id [String, nil] what events have as long as the stream names none
    # @param response [Response, nil] whose body it is, for errors
    # @raise [InvalidRequest]
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

    # What a block that is left early has not seen comes with the next chunk.
    #
    # @param chunk [String] the bytes that come next
    # @yield [event] each ServerSentEvent that is complete now
    # @return [nil]
    # @raise [EventTooLarge]
    def feed(chunk)
      self << chunk
      while (event = next_event)
        yield event
      end
    end

    private

    def too_large
      what = "an event is larger than allowed (limit: #{@limit} bytes)"
      return EventTooLarge.new(what, phase: :read) unless @response

      EventTooLarge.about(@response, "was answered #{@response.status}, and #{what}")
    end
  end
end
