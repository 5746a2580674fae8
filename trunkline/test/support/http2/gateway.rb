# frozen_string_literal: true

require "delegate"
require_relative "frame_server"

# HTTP/2 in front of a ScriptedServer, so that what a test says of a server in HTTP/1.1 can be said over HTTP/2 as well:
# each stream has a connection to the scripted server for itself, and it ends as the stream ends. A stream takes over a
# connection that an earlier one of the same client has left idle, the latest first, as a pool would. What is no HTTP/2
# (the TLS of a client whose server does not answer it) is passed on as it is. To a test the gateway is the scripted
# server itself, but for its address.
class HTTP2Gateway < SimpleDelegator
  # @param origin [ScriptedServer] without TLS; stopped with the gateway
  # @param handshake [Boolean] false: its URLs say https, though it does not shake hands
  def initialize(origin, tls: nil, handshake: true)
    super(origin)
    @lines = Hash.new { |lines, connection| lines[connection] = [] }
    @relayed = []
    @settled = ConditionVariable.new
    @lock = Mutex.new
    @front = FrameServer.new(tls: tls, handshake: handshake, grants: :read, stranger: method(:pass_on)) do |stream|
      relay(stream)
    end
  end

  def port = @front.port
  def address = @front.address
  def url(...) = @front.url(...)

  # @return [Array<FrameConnection>] those of the client
  def fronts = @front.connections

  def stop
    @front.stop
  ensure
    @lock.synchronize { @lines.values.flatten.each(&:close) }
    __getobj__.stop
  end

  # What a stream is passed on with: one connection of HTTP/1.1.
  class Line
    CONNECTION_FIELDS = %w[connection keep-alive transfer-encoding upgrade].freeze
    BLOCK = 65_536
    LOOK = 0.02 # seconds between two looks at whether it was closed
    Broken = Class.new(IOError)

    attr_reader :keep

    def initialize(port)
      @socket = TCPSocket.new("127.0.0.1", port)
      @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      @buffer = "".b
      @keep = true
    end

    def close
      @socket.close unless @socket.closed?
    end

    # Nothing lies there, not even its end.
    def idle? = @keep && @buffer.empty? && !@socket.closed? && !@socket.wait_readable(0)

    def send_request(stream)
      chunked = !stream.bodiless? && stream["content-length"].nil?
      fields = stream.request.headers
      fields += [%w[transfer-encoding chunked]] if chunked
      lines = fields.map { |name, value| "#{name}: #{value}\r\n" }
      write("#{stream.verb} #{stream.target} HTTP/1.1\r\n#{lines.join}\r\n")
      while (piece = stream.read)
        write(chunked ? Answers.chunk(piece) : piece)
      end
      return @keep = false if stream.reset_by_client

      write("0\r\n#{stream.request_trailers.to_a.map { |pair| pair.join(": ") + "\r\n" }.join}\r\n") if chunked
    end

    def pass_answer(stream)
      status, fields = read_head
      while status < 200
        stream.informational(status, **regular(fields))
        status, fields = read_head
      end
      @keep = false if fields.assoc("connection")&.last.to_s.casecmp?("close")
      pass_body(stream, status, fields)
    end

    private

    # One thread reads while another writes. What waits in a socket of JRuby has others wait for its end, so each waits
    # by select, and then does what can be done at once. A select does not hear that another thread closes the socket.
    # rubocop:disable Lint/IncompatibleIoSelectWithFiberScheduler -- JRuby's wait_readable is such a wait
    def read
      nil until IO.select([@socket], nil, nil, LOOK)
      @socket.readpartial(BLOCK)
    end

    def write(bytes)
      until bytes.empty?
        count = @socket.write_nonblock(bytes, exception: false)
        next IO.select(nil, [@socket], nil, LOOK) if count == :wait_writable

        bytes = bytes.byteslice(count..)
      end
    end
    # rubocop:enable Lint/IncompatibleIoSelectWithFiberScheduler

    def regular(fields) = fields.to_h.except(*CONNECTION_FIELDS)

    def pass_body(stream, status, fields)
      length = fields.assoc("content-length")&.last&.to_i
      chunked = fields.assoc("transfer-encoding")
      none = stream.verb == "HEAD" || [204, 304].include?(status) || (length&.zero? && !chunked)
      stream.headers(status, end_stream: none, **regular(fields))
      return if none
      return pass_chunks(stream) if chunked

      length ? pass_exactly(length, stream) : pass_rest(stream)
      stream.data("", end_stream: true)
    end

    def pass_exactly(count, stream)
      while count.positive?
        piece = read_some(count) or raise Broken, "the server left in the middle of its answer"
        count -= piece.bytesize
        stream.data(piece)
      end
    end

    def pass_chunks(stream)
      while (size = read_line.to_i(16)).positive?
        pass_exactly(size, stream)
        read_line
      end
      trailers = read_fields
      trailers.empty? ? stream.data("", end_stream: true) : stream.trailers(**trailers.to_h)
    end

    def pass_rest(stream)
      @keep = false
      while (piece = read_some(BLOCK))
        stream.data(piece)
      end
    end

    def read_head
      status = read_line[%r{\AHTTP/1\.1 (\d{3}) }, 1] or raise Broken, "no status"
      [status.to_i, read_fields]
    end

    def read_fields
      fields = []
      until (line = read_line).empty?
        name, value = line.split(/:[ \t]*/, 2)
        fields << [name.downcase, value]
      end
      fields
    end

    def read_line
      until (stop = @buffer.index("\r\n"))
        @buffer << read
      end
      @buffer.slice!(0, stop + 2).delete_suffix("\r\n")
    end

    # nil at the end.
    def read_some(most)
      @buffer << read if @buffer.empty?
      @buffer.slice!(0, most)
    rescue EOFError
      nil
    end
  end

  private

  def relay(stream)
    @lock.synchronize { @relayed << stream }
    line = take_line(stream.connection)
    stream.on_reset { line.close }
    sending = Thread.new { send_request(line, stream) }
    line.pass_answer(stream)
    stream.reset(:no_error) unless stream.request_ended?
    kept = give_back(line, stream)
  rescue FrameStream::Gone
    nil
  rescue IOError, SystemCallError
    line&.close # before the client hears of it
    stream.reset(:internal_error) unless stream.answered || stream.reset_by_client || stream.connection.over?
  ensure
    line&.close unless kept # also when the thread is killed
    settle(stream)
    sending&.join
  end

  # Its line is free, or closed.
  def settle(stream)
    @lock.synchronize { @relayed.delete(stream) && @settled.broadcast }
  end

  # What is no HTTP/2, byte by byte, both ways.
  def pass_on(connection, first)
    server = TCPSocket.new("127.0.0.1", __getobj__.port)
    answering = Thread.new { copy(server, connection.line.tcp) }
    server.write(first)
    copy(connection.line.tcp, server)
    server.close_write
  ensure
    answering&.kill&.join
    server&.close
  end

  def copy(from, to)
    loop { to.write(from.readpartial(Line::BLOCK)) }
  rescue IOError, SystemCallError
    nil
  end

  def send_request(line, stream)
    line.send_request(stream)
  rescue *ScriptedServer::EXPECTED
    nil # whoever reads the answer finds out as well
  end

  def take_line(connection)
    @lock.synchronize do
      # A client that has the end of an answer may be faster than the line on which it came is given back.
      @settled.wait(@lock) while @relayed.any? { |other| other.answered && other.connection.equal?(connection) }
      idle = @lines[connection]
      while (line = idle.pop)
        return line if line.idle?

        line.close
      end
    end
    Line.new(__getobj__.port)
  end

  # With the client's connection its idle lines end.
  # @return [Boolean] whether the line is kept
  def give_back(line, stream) # rubocop:disable Naming/PredicateMethod -- it asks nothing
    return false unless line.keep && stream.request_ended? && !stream.reset_by_client

    stream.on_reset { nil }
    @lock.synchronize { @lines[stream.connection] << line }
    stream.connection.at_end { line.close }
    true
  end
end
