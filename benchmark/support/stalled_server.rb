# frozen_string_literal: true

require "socket"

module Bench
  # A server that reads each request and never answers. It counts the requests: the attempts that a client made.
  class StalledServer
    END_OF_HEAD = "\r\n\r\n"

    def self.open
      server = new
      yield server
    ensure
      server&.stop
    end

    def initialize
      @listener = TCPServer.new("127.0.0.1", 0)
      @attempts = Queue.new
      @threads = ThreadGroup.new
      @threads.add(Thread.new { accept })
    end

    def base = "http://127.0.0.1:#{@listener.addr[1]}"

    # Requests seen while the block ran.
    def attempts
      @attempts.clear
      yield
      @attempts.size
    end

    def stop
      @threads.list.each(&:kill)
      @listener.close
    end

    private

    def accept
      loop do
        socket = @listener.accept
        @threads.add(Thread.new { swallow(socket) })
      end
    end

    def swallow(socket)
      @attempts << true while socket.gets(END_OF_HEAD)
    rescue SystemCallError
      nil # the client gave up: that is what it is here for
    ensure
      socket.close
    end
  end
end
