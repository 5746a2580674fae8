# frozen_string_literal: true

require "json"
require "socket"
require_relative "lab"

module Bench
  # A server of JSON bodies of any size, in a separate process: /array/KIND?bytes=N is an array of values of that
  # kind, /lines/KIND?bytes=N is JSON lines.
  module JSONOrigin
    RANDOM = Random.new(18)
    PROSE = "It was the best of times, it was the worst of times. " * 378
    # Each of the "objects" has 190 bytes, which is typical of an API.
    VALUES = {
      "objects" => lambda do |i|
        { id: i, name: "user #{i}", email: "user#{i}@example.test", score: i * 1.5, active: i.even?,
          tags: %w[a b c], address: { street: "#{i} Main Street", city: "Springfield", zip: nil } }
      end,
      "integers" => ->(_) { RANDOM.rand(1_000_000) },
      "floats" => ->(_) { RANDOM.rand },
      "literals" => ->(i) { [true, false, nil][i % 3] },
      "pairs" => ->(_) { [RANDOM.rand(-180.0..180.0).round(6), RANDOM.rand(-90.0..90.0).round(6)] },
      "short_strings" => ->(i) { "user #{i}" },
      "escaped_strings" => ->(i) { "\"user\"\t#{i}\n" },
      "long_strings" => ->(i) { "#{i} #{PROSE}" }, # of 20 KB
      "messages" => ->(i) { { id: i, text: PROSE[0, 2000] } }
    }.freeze

    module_function

    # @yield [url] while the server runs
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

    def piece_of(kind, divider)
      Array.new(256) { |i| divider + JSON.generate(VALUES.fetch(kind).call(i)) }.join
    end

    def answer(connection)
      form, kind, bytes = connection.gets&.match(%r{/(array|lines)/(\w+)\?bytes=(\d+)})&.captures
      return unless form

      nil until ["\r\n", nil].include?(connection.gets)
      type = form == "array" ? "application/json" : "application/x-ndjson"
      opening, divider, ending = form == "array" ? ["[", ",", "]"] : ["", "\n", "\n"]
      piece = piece_of(kind, divider)
      pieces = [Integer(bytes) / piece.bytesize, 1].max
      length = opening.bytesize + (pieces * piece.bytesize) - 1 + ending.bytesize
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: #{type}\r\nContent-Length: #{length}\r\n\r\n",
                       opening, piece[1..])
      (pieces - 1).times { connection.write(piece) }
      connection.write(ending)
    rescue SystemCallError
      nil # the reader has closed the connection
    ensure
      connection.close
    end
  end
end

Bench::JSONOrigin.serve(TCPServer.for_fd(Integer(ARGV.first))) if $PROGRAM_NAME == __FILE__
