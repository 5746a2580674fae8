# frozen_string_literal: true

require "socket"
require "openssl"
require "tmpdir"
require_relative "scripted_connection"
require_relative "answers"
require_relative "assertions"
require_relative "one_at_a_time"

# A server that does exactly what a test says, on a free port, each connection in a thread of its own:
#
#   ScriptedServer.new { |connection| connection.read_request; connection << answer("hello") }
#   ScriptedServer.new(script: [[:read, answer, :close], [:read, answer]])   # first connection, all later ones
#
# A step is a Symbol (a method of the connection, :read for read_request), a String to write, a Number of seconds to
# sleep, or anything that answers call(connection). A script that has no steps left closes its connection.
class ScriptedServer
  Failure = Class.new(StandardError)

  # What a client may do to us at any time; everything else that a script raises fails its test.
  EXPECTED = [SystemCallError, EOFError, OpenSSL::SSL::SSLError, IOError].freeze

  attr_reader :connections, :handshake_errors

  # A server that gives the same answer to every request, for as long as the client stays.
  def self.answering(bytes = Answers.answer, **options)
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

  # Every request seen so far, in the order of arrival, over all connections.
  def requests = @lock.synchronize { @requests.dup }
  def raw_requests = requests.map(&:raw)
  def connection_count = @lock.synchronize { @sockets.size }

  def wait_for_requests(count) = wait_until { requests.size >= count }
  def wait_for_connections(count) = wait_until { connection_count >= count }

  # How the client left the given connection, once it has.
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

  # The listener is not closed under the thread that accepts: Ruby would lose what it had just accepted.
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
    # On JRuby select without a time may give nil.
    until IO.select([@listener, @stopping])&.first&.include?(@stopping)
      socket = @listener.accept_nonblock(exception: false)
      take(socket) unless socket == :wait_readable
    end
  rescue IOError, SystemCallError
    nil # closed by the test itself
  end

  # A connection may come while the server is being stopped: then nobody else closes it.
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
      stream.extend(OneAtATime) if RUBY_ENGINE == "jruby"
    end
  rescue OpenSSL::SSL::SSLError, SystemCallError => error
    @lock.synchronize { @handshake_errors << error }
    nil
  end

  # An end without a clean TLS shutdown happens where a script asks for it, never by accident.
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
