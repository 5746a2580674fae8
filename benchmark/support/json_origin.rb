# frozen_string_literal: true

require "json"
require "socket"
require_relative "lab"

module Bench
  # A server of JSON of any size, in a process of its own: /array?bytes=N is an array, /lines?bytes=N JSON lines.
  module JSONOrigin
    # As an API has them: 190 bytes each.
    OBJECTS = Array.new(256) do |i|
      JSON.generate(id: i, name: "user #{i}", email: "user#{i}@example.test", score: i * 1.5, active: i.even?,
                    tags: %w[a b c], address: { street: "#{i} Main Street", city: "Springfield", zip: nil })
    end

    module_function

    # @yield [url] while it runs
    def run
      server = TCPServer.new("127.0.0.1", 0)
      pid = Trunkline::Lab::Processes.spawn(RbConfig.ruby, __FILE__, server.fileno.to_s,
                                            core: Trunkline::Lab::Processes::ORIGIN_CORE, server => server)
      yield "http://127.0.0.1:#{server.addr[1]}"
    ensure
      Trunkline::Lab::Processes.stop(pid) if pid
      server&.close
    end

    def serve(server)
      loop do
        connection = server.accept
        Thread.new { answer(connection) }
      end
    end

    def answer(connection)
      kind, bytes = connection.gets&.match(%r{/(array|lines)\?bytes=(\d+)})&.captures
      return unless kind

      nil until ["\r\n", nil].include?(connection.gets)
      type = kind == "array" ? "application/json" : "application/x-ndjson"
      opening, divider, ending = kind == "array" ? ["[", ",", "]"] : ["", "\n", "\n"]
      piece = OBJECTS.map { |object| divider + object }.join
      pieces = Integer(bytes) / piece.bytesize
      length = opening.bytesize + (pieces * piece.bytesize) - 1 + ending.bytesize
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: #{type}\r\nContent-Length: #{length}\r\n\r\n",
                       opening, piece[1..])
      (pieces - 1).times { connection.write(piece) }
      connection.write(ending)
    rescue SystemCallError
      nil # the reader has ended
    ensure
      connection.close
    end
  end
end

Bench::JSONOrigin.serve(TCPServer.for_fd(Integer(ARGV.first))) if $PROGRAM_NAME == __FILE__
