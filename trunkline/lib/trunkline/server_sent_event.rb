# frozen_string_literal: true

module Trunkline
  # An event of an event stream (WHATWG HTML 9.2). The engine makes it. It and its Strings are frozen. The Strings are
  # UTF-8; invalid bytes are replaced by U+FFFD.
  class ServerSentEvent
    # @return [String] the last event ID of the stream: the ID of this event or of an earlier one; "" after the server
    #   has reset it
    # @return [nil] when no event so far had an ID
    attr_reader :id
    # @return [String] the data lines of the event, joined by "\n"
    attr_reader :data
    # @return [String] the event type; "message" when the server named none
    attr_reader :type
    # @return [Float, nil] seconds to wait before connecting again, if this event sets them
    attr_reader :retry

    # Makes an event, for tests of code that takes events.
    #
    # @param data [String]
    # @param type [String]
    # @param id [String, nil]
    # @param retry [Numeric, nil] seconds
    def initialize(data:, type: "message", id: nil, retry: nil)
      @data = data.dup.freeze
      @type = type.dup.freeze
      @id = id.dup.freeze
      seconds = binding.local_variable_get(:retry) # a keyword of Ruby cannot be read as a variable
      @retry = seconds&.to_f
      freeze
    end

    # For pattern matching:
    #
    #   case event
    #   in { type: "error", data: } then raise data
    #   in { data: } then print data
    #   end
    #
    # @return [Hash{Symbol => Object}] type, data, id, retry
    def to_h = { type: type, data: data, id: id, retry: self.retry }

    # @param _keys [Array<Symbol>, nil]
    # @return [Hash{Symbol => Object}]
    def deconstruct_keys(_keys) = to_h

    # @return [Boolean] whether the other is an event with the same type, data, id and retry
    def ==(other) = other.is_a?(ServerSentEvent) && to_h == other.to_h
    alias eql? ==

    # @return [Integer]
    def hash = to_h.hash

    # The data is not shown: it may be a secret.
    # @return [String]
    def inspect
      shown = [type, ("id: #{id.inspect}" if id), ("retry: #{self.retry}" if self.retry), "#{data.bytesize} bytes"]
      "#<#{self.class} #{shown.compact.join(", ")}>"
    end
    alias to_s inspect
  end
end
