# frozen_string_literal: true

require "delegate"
require_relative "frame_server"

# An HTTP/2 front of a ScriptedServer, so that tests written for an HTTP/1.1 server also run over HTTP/2: each stream
# has its own connection to the scripted server, which ends with the stream. A stream reuses a connection that an
# earlier stream of the same client has left idle, the latest first, like a pool. Connections that do not speak HTTP/2
# (TLS of a client to a server that does not respond to the handshake) are forwarded unchanged. Tests use the gateway
# like the scripted server itself; only its address differs.
class HTTP2Gateway < SimpleDelegator
  # @param origin [ScriptedServer] without TLS; stopped with the gateway
  # @param handshake [Boolean] false: its URLs say https, though it does not complete handshakes
  def initialize(origin, tls: nil, handshake: true)
    super(origin)
    @idle_upstreams = Hash.new { |upstreams, connection| upstreams[connection] = [] }
    @relayed = []
    @settled = ConditionVariable.new
    @lock = Mutex.new
    @front = FrameServer.new(tls: tls, handshake: handshake, grants: :read, fallback: method(:pass_on)) do |stream|
      relay(stream)
    end
  end

  def port = @front.port
  def address = @front.address
  def url(...) = @front.url(...)

  # @return [Array<FrameConnection>] the client's connections
  def fronts = @front.connections

  def stop
    @front.stop
  ensure
    @lock.synchronize { @idle_upstreams.values.flatten.each(&:close) }
    __getobj__.stop
  end

  # An HTTP/1.1 connection to the scripted server, to which a stream is forwarded.
  class UpstreamConnection
    CONNECTION_FIELDS = %w[connection keep-alive transfer-encoding upgrade].freeze
    BLOCK = 65_536
    POLL_INTERVAL = 0.02 # seconds between two checks whether it was closed
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

    # Whether nothing is left to read, not even the end.
    def idle? = @keep && @buffer.empty? && !@socket.closed? && !@socket.wait_readable(0)

    def send_request(stream)
      chunked = !stream.bodiless? && stream["content-length"].nil?
      fields = stream.request.headers
      fields += [%w[transfer-encoding chunked]] if chunked
      lines = fields.map { |name, value| "#{name}: #{value}\r\n" }
      write("#{stream.verb} #{stream.target} HTTP/1.1\r\n#{lines.join}\r\n")
      while (piece = stream.read)
        write(chunked ? Responses.chunk(piece) : piece)
      end
      return @keep = false if stream.reset_by_client

      write("0\r\n#{stream.request_trailers.to_a.map { |pair| pair.join(": ") + "\r\n" }.join}\r\n") if chunked
    end

    def pass_response(stream)
      status, fields = read_head
      while status < 200
        stream.informational(status, **regular(fields))
        status, fields = read_head
      end
      @keep = false if fields.assoc("connection")&.last.to_s.casecmp?("close")
      pass_body(stream, status, fields)
    end

    private

    # One thread reads while another writes. On JRuby an operation that waits in a socket blocks others on it, so each
    # waits by select, and then does only what can be done at once. select does not notice that another thread closes
    # the socket, hence its timeout.
    # rubocop:disable Lint/IncompatibleIoSelectWithFiberScheduler -- JRuby's wait_readable is such a wait
    def read
      nil until IO.select([@socket], nil, nil, POLL_INTERVAL)
      @socket.readpartial(BLOCK)
    end

    def write(bytes)
      until bytes.empty?
        count = @socket.write_nonblock(bytes, exception: false)
        next IO.select(nil, [@socket], nil, POLL_INTERVAL) if count == :wait_writable

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

    # Returns nil at the end.
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
    upstream = take_upstream(stream.connection)
    stream.on_reset { upstream.close }
    sending = Thread.new { send_request(upstream, stream) }
    upstream.pass_response(stream)
    stream.reset(:no_error) unless stream.request_ended?
    kept = give_back(upstream, stream)
  rescue FrameStream::Gone
    nil
  rescue IOError, SystemCallError
    upstream&.close # before the client gets the reset
    stream.reset(:internal_error) unless stream.answered || stream.reset_by_client || stream.connection.over?
  ensure
    upstream&.close unless kept # also when the thread is killed
    settle(stream)
    sending&.join
  end

  # Marks the stream as done: its upstream connection is free, or closed.
  def settle(stream)
    @lock.synchronize { @relayed.delete(stream) && @settled.broadcast }
  end

  # Forwards a connection that does not speak HTTP/2, byte by byte, in both directions.
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
    loop { to.write(from.readpartial(UpstreamConnection::BLOCK)) }
  rescue IOError, SystemCallError
    nil
  end

  def send_request(upstream, stream)
    upstream.send_request(stream)
  rescue *ScriptedServer::EXPECTED
    nil # the thread that reads the response gets the error as well
  end

  def take_upstream(connection)
    @lock.synchronize do
      # A client that has the end of a response may send its next request before the upstream connection of that
      # response is free again.
      @settled.wait(@lock) while @relayed.any? { |other| other.answered && other.connection.equal?(connection) }
      idle = @idle_upstreams[connection]
      while (upstream = idle.pop)
        return upstream if upstream.idle?

        upstream.close
      end
    end
    UpstreamConnection.new(__getobj__.port)
  end

  # Idle upstream connections are closed with the client's connection.
  # @return [Boolean] whether the connection is kept
  def give_back(upstream, stream) # rubocop:disable Naming/PredicateMethod -- it asks nothing
    return false unless upstream.keep && stream.request_ended? && !stream.reset_by_client

    stream.on_reset { nil }
    @lock.synchronize { @idle_upstreams[stream.connection] << upstream }
    stream.connection.at_end { upstream.close }
    true
  end
end
