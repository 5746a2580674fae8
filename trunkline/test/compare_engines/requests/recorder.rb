# frozen_string_literal: true

require "socket"
require_relative "recorded_http1"
require_relative "recorded_http2"

# A server that records all bytes that it receives, and answers each request. It listens at 127.0.0.1, ::1 and a Unix
# socket.
class RequestRecorder
  # Seconds for the ends of connections.
  PATIENCE = 0.5

  # port; path: of the Unix socket; file: one that can be read
  attr_reader :port, :path, :file

  # @param folder [String] for the socket; has the file
  def initialize(folder)
    @path = File.join(folder, "#{Process.pid}-#{object_id}.socket")
    @file = File.join(folder, "file.txt")
    @listeners = [*at_one_port, UNIXServer.new(@path)]
    @connections = []
    @answers = []
    @lock = Mutex.new
    @listeners.each { |listener| Thread.new { loop { accept if listener.wait_readable } } }
  end

  def answers=(list)
    @answers = list.map { |status, fields| [status, fields.transform_values { |value| value.gsub("PORT", port.to_s) }] }
  end

  # @return [Array(Integer, Hash)] status and fields
  def next_answer = @answers.shift || [200, {}]

  # @return [Array<String>] what was received on each connection since the last call
  def take
    accept
    @connections.shift(@connections.size).map do |thread|
      thread.join(PATIENCE) || thread[:socket]&.shutdown
      thread.value
    rescue SystemCallError, IOError
      "#{thread[:bytes]}(not closed)"
    end
  end

  private

  def at_one_port
    first = TCPServer.new("127.0.0.1", 0)
    @port = first.addr[1]
    [first, TCPServer.new("::1", @port)]
  rescue Errno::EADDRINUSE
    first.close
    retry
  end

  # Accepts all connections that have been opened.
  def accept
    @lock.synchronize do
      @listeners.each do |listener|
        while (socket = listener.accept_nonblock(exception: false)) != :wait_readable
          @connections << start(socket)
        end
      end
    end
  end

  def start(socket)
    Thread.new do
      Thread.current.report_on_exception = false
      Thread.current[:socket] = socket
      record(socket, Thread.current[:bytes] = "".b)
    end
  end

  def record(socket, bytes)
    first = socket.read(4).to_s
    if first == "PRI "
      RecordedHTTP2.new(socket, self, bytes).run
    else
      RecordedHTTP1.new(socket, self, bytes << first).run
    end
    bytes
  rescue SystemCallError, IOError
    bytes # the client has closed the connection early
  ensure
    socket.close
  end
end
