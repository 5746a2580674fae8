# frozen_string_literal: true

require "socket"

# A test's name server, on the address that NetworkNamespace configures for programs: over UDP, and over TCP for
# responses that do not fit into a datagram. The block returns the response to each query: its records as [type, bytes],
# the raw response as a String, :another for a response with another query's id, or nil for none.
class NameServer
  ADDRESS = ["127.0.0.1", 53].freeze
  QUESTION = 12 # position of the question in a message
  DATAGRAM = 512

  def initialize(&block)
    @responder = block
    @unanswered = Queue.new
    @datagrams = UDPSocket.new.tap { |socket| socket.bind(*ADDRESS) }
    @listener = TCPServer.new(*ADDRESS)
    @threads = [Thread.new { loop { take_datagram } }, Thread.new { loop { take_connection(@listener.accept) } }]
  end

  # Sends an empty response to each query without one, so that no look-up outlives the test.
  def stop
    @threads.each { |thread| thread.kill.join }
    until @unanswered.empty?
      query, from = @unanswered.pop
      @datagrams.send(reply(query, []), 0, from)
    end
    [@datagrams, @listener].each(&:close)
  end

  private

  def take_datagram
    query, (_, port, _, host) = @datagrams.recvfrom(4096)
    from = Socket.sockaddr_in(port, host)
    bytes = response_to(query)
    @unanswered << [query, from] unless bytes && bytes[0, 2] == query[0, 2]
    return unless bytes

    @datagrams.send(bytes.bytesize > DATAGRAM ? truncated(bytes) : bytes, 0, from)
  end

  def take_connection(socket)
    while (size = socket.read(2)&.unpack1("n"))
      bytes = response_to(socket.read(size))
      socket.write([bytes.bytesize].pack("n") + bytes)
    end
  ensure
    socket.close
  end

  def response_to(query)
    response = @responder.call
    return response if response.nil? || response.is_a?(String)
    return reply(query, response) unless response == :another

    reply(query, [[1, [127, 0, 0, 1].pack("C4")]]).tap { |bytes| bytes.setbyte(0, bytes.getbyte(0) ^ 1) }
  end

  # Responds with the records of the requested type; the name in all of them is that of the question.
  def reply(query, records)
    question = query[QUESTION...question_end(query)]
    fitting = records.select { |type, _| type == question[-4, 2].unpack1("n") }
    body = fitting.map { |type, bytes| [0xC000 | QUESTION, type, 1, 60, bytes.bytesize].pack("nnnNn") + bytes.b }.join
    query[0, 2] + [0x8180, 1, fitting.size, 0, 0].pack("n5") + question + body
  end

  def truncated(bytes) = bytes[0, 2] + [0x8380, 1, 0, 0, 0].pack("n5") + bytes[QUESTION...question_end(bytes)]

  # The name is followed by type and class, two bytes each.
  def question_end(bytes) = bytes.index("\0", QUESTION) + 5
end
