# frozen_string_literal: true

require "socket"
require_relative "lab"

module Bench
  # A server of tokens, in a separate process: it responds to each request with server-sent events, the first WAIT
  # seconds after the request and the others PACE seconds apart, and closes. One thread writes all of them, when they
  # are due.
  module TokenOrigin
    WAIT = 0.2
    PACE = 0.05
    TOKENS = 20
    HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    EVENT = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"}}]}\n\n"

    Stream = Struct.new(:connection, :due, :left)

    module_function

    # @yield [port] while the server runs
    def run
      server = TCPServer.new("127.0.0.1", 0)
      pid = Trunkline::Lab::Processes.spawn(RbConfig.ruby, __FILE__, server.fileno.to_s,
                                            core: Trunkline::Lab::Processes::ORIGIN_CORE, server => server)
      yield server.addr[1]
    ensure
      Trunkline::Lab::Processes.stop(pid) if pid
      server&.close
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # A stream begins when its request is complete; `streams` is sorted by the time when the next event is due.
    def serve(server)
      asking = {}
      streams = []
      loop do
        wait = streams.empty? ? nil : [streams.first.due - now, 0].max
        readable, = IO.select([server, *asking.keys], nil, nil, wait)
        Array(readable).each { |io| io == server ? asking[server.accept] = +"" : read(io, asking, streams) }
        continue(streams)
      end
    end

    def read(connection, asking, streams)
      request = asking[connection] << connection.read_nonblock(65_536)
      head, body = request.split("\r\n\r\n", 2)
      return unless body && body.bytesize >= head[/^content-length: *(\d+)/i, 1].to_i

      asking.delete(connection)
      connection.write(HEAD)
      streams.push(Stream.new(connection, now + WAIT, TOKENS))
    rescue SystemCallError, EOFError
      asking.delete(connection)
    end

    def continue(streams)
      due = now
      while streams.any? && streams.first.due <= due
        stream = streams.shift
        stream.connection.write(EVENT)
        stream.left -= 1
        next stream.connection.close if stream.left.zero?

        stream.due += PACE
        at = streams.bsearch_index { |other| other.due > stream.due } || streams.size
        streams.insert(at, stream)
      end
    rescue SystemCallError
      nil # the reader has closed the connection
    end
  end
end

Bench::TokenOrigin.serve(TCPServer.for_fd(Integer(ARGV.first))) if $PROGRAM_NAME == __FILE__
