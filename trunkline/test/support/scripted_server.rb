# frozen_string_literal: true

require "socket"
require "openssl"
require "tmpdir"
require_relative "scripted_connection"
require_relative "responses"
require_relative "assertions"
require_relative "serialized_io"

# A server that does exactly what a test specifies, on a free port, with each connection in a separate thread:
#
#   ScriptedServer.new { |connection| connection.read_request; connection << response_bytes("hello") }
#   ScriptedServer.new(script: [[:read, answer, :close], [:read, answer]])   # first connection, all later ones
#
# A step is a Symbol (a method of the connection, :read for read_request), a String to write, a number of seconds to
# sleep, or an object with call(connection). After the last step the connection is closed.
class ScriptedServer
  Failure = Class.new(StandardError)

  # Errors that a client may cause at any time; any other error in a script fails its test.
  EXPECTED = [SystemCallError, EOFError, OpenSSL::SSL::SSLError, IOError].freeze

  attr_reader :connections, :handshake_errors

  # A server that gives the same response to every request, until the client closes.
  def self.responding(bytes = Responses.response_bytes, **options)
    new(**options) { |connection| connection << bytes while connection.read_request }
  end

  def initialize(script: nil, tls: nil, unix: nil, host: "127.0.0.1", handshake: true, &block)
    @play = block || player(script)
    @tls = tls
    @unix = unix
    @host = host
    @handshake = handshake
    @listener = unix ? UNIXServer.new(unix) : TCPServer.new(host, 0)
    @lock = Mutex.new
    @connections = []
    @sockets = []
    @requests = []
    @threads = []
    @failures = []
    @stopped = false
    @handshake_errors = []
    @stopping, @stop = IO.pipe
    @accepting = Thread.new { accept_all }
    @accepting.report_on_exception = false
  end

  def port = @listener.addr[1]
  def address = "#{@host.include?(":") ? "[#{@host}]" : @host}:#{port}"

  def url(path = "/", host: nil)
    authority = host ? "#{host}:#{port}" : address
    "#{@tls || !@handshake ? "https" : "http"}://#{authority}#{path}"
  end

  # Every request received so far, in the order of arrival, over all connections.
  def requests = @lock.synchronize { @requests.dup }
  def raw_requests = requests.map(&:raw)
  def connection_count = @lock.synchronize { @sockets.size }

  def wait_for_requests(count) = wait_until { requests.size >= count }
  def wait_for_connections(count) = wait_until { connection_count >= count }

  # Waits until the client has closed the given connection, and returns how.
  def ended(index = 0)
    wait_until { @connections[index]&.ended }
    @connections[index]&.ended
  end

  def stop
    stop_accepting
    sockets = @lock.synchronize { (@stopped = true) && @sockets.dup }
    sockets.each { |socket| socket.close unless socket.closed? }
    @threads.each { |thread| thread.join(0.5) || thread.kill.join }
    File.unlink(@unix) if @unix && File.exist?(@unix)
    raise @failures.first unless @failures.empty?
  end

  private

  # The listener is closed only after the accepting thread has ended: otherwise Ruby would lose a connection that it had
  # just accepted.
  def stop_accepting
    @stop.close
    @accepting.join
    [@listener, @stopping].each { |io| io.close unless io.closed? }
  end

  def wait_until
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Assertions::PATIENCE
    until (result = yield)
      return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.005
    end
    result
  end

  def accept_all
    # On JRuby select without a timeout may return nil.
    until IO.select([@listener, @stopping])&.first&.include?(@stopping)
      socket = @listener.accept_nonblock(exception: false)
      take(socket) unless socket == :wait_readable
    end
  rescue IOError, SystemCallError
    nil # closed by the test itself
  end

  # A connection that is accepted while the server stops is closed here, since no other code would close it.
  def take(socket)
    number = @lock.synchronize { @sockets.push(socket).size unless @stopped }
    return socket.close unless number

    @threads << Thread.new { serve(socket, number) }.tap { |thread| thread.report_on_exception = false }
  end

  def serve(socket, number)
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless @unix
    stream = shake_hands(socket) or return
    connection = ScriptedConnection.new(stream, number, method(:record))
    @lock.synchronize { @connections[number - 1] = connection }
    @play.call(connection)
  rescue *EXPECTED
    nil
  rescue StandardError, Minitest::Assertion => error
    @failures << error
  ensure
    close(stream || socket)
  end

  def shake_hands(socket)
    return socket unless @tls

    OpenSSL::SSL::SSLSocket.new(socket, @tls).tap do |stream|
      stream.sync_close = true
      stream.accept
      stream.extend(SerializedIO) if RUBY_ENGINE == "jruby"
    end
  rescue OpenSSL::SSL::SSLError, SystemCallError => error
    @lock.synchronize { @handshake_errors << error }
    nil
  end

  # A connection is closed without TLS's close_notify only when a script asks for it.
  def close(stream)
    stream.close unless stream.closed? || (stream.respond_to?(:to_io) && stream.to_io.closed?)
  rescue *EXPECTED
    nil
  end

  def record(request) = @lock.synchronize { @requests << request }

  def player(script)
    lambda do |connection|
      steps = script[connection.number - 1] || script.last
      steps.each { |step| play(step, connection) }
    end
  end

  def play(step, connection)
    case step
    when :read then connection.read_request
    when Symbol then connection.public_send(step)
    when String then connection.write(step)
    when Numeric then sleep step
    else step.call(connection)
    end
  end
end
