# frozen_string_literal: true

# Parses server-sent events as specified by WHATWG HTML 9.2.6, sentence by sentence, from a whole stream.
module PlainEventStream
  LINE = /\G([^\r\n]*)(?:\r\n|\r|\n)/
  State = Struct.new(:data, :type, :id, :last_id, :retry, :events)

  # @param bytes [String]
  # @return [Array<Array>] type, data, id and retry (milliseconds) of each event
  def self.parse(bytes)
    text = bytes.dup.force_encoding(Encoding::UTF_8).scrub.delete_prefix("\uFEFF")
    state = State.new(+"", "", nil, nil, nil, [])
    text.scan(LINE) { |line,| take(state, line) }
    state.events
  end

  def self.take(state, line)
    return dispatch(state) if line.empty?
    return if line.start_with?(":")

    name, value = line.split(":", 2)
    field(state, name, (value || "").delete_prefix(" "))
  end

  def self.field(state, name, value)
    case name
    when "event" then state.type = value
    when "data" then state.data << value << "\n"
    when "id" then state.id = value unless value.include?("\0")
    when "retry" then state.retry = value.to_i if value.match?(/\A[0-9]+\z/)
    end
  end

  def self.dispatch(state)
    state.last_id = state.id
    unless state.data.empty?
      type = state.type.empty? ? "message" : state.type
      state.events << [type, state.data.delete_suffix("\n"), state.last_id, state.retry]
    end
    state.data = +""
    state.type = ""
    state.retry = nil
  end
end
