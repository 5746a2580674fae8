# frozen_string_literal: true

require "io/wait"
require "socket"

module Trunkline
  module Lab
    module Origins
      class Scripted
        # A connection, as a script uses it: reads requests, writes any bytes, and ends in any way.
        class Connection
          # A request as received.
          Request = Struct.new(:verb, :target, :headers, :body) do
            def [](name) = headers[name.downcase]
          end

          attr_reader :number, :requests

          # @param stream [TCPSocket, OpenSSL::SSL::SSLSocket]
          def initialize(stream, number)
            @stream = stream
            @number = number
            @requests = []
          end

          # @return [Request, nil] nil at the end of the connection
          def request
            read { |headers| body(headers) }
          end

          # @return [Boolean] whether there are unread bytes
          def waiting? = @stream.wait_readable(0) ? true : false

          # Reads a request without its body.
          # @return [Request, nil] nil at the end of the connection
          def head = read { "" }

          def answer(text, status: "200 OK", headers: {})
            fields = headers.map { |name, value| "#{name}: #{value}\r\n" }.join
            write("HTTP/1.1 #{status}\r\nContent-Length: #{text.bytesize}\r\n#{fields}\r\n#{text}")
          end

          def write(bytes) = @stream.write(bytes)
          alias << write

          # @param every [Numeric] seconds between two bytes
          def drip(bytes, every:)
            bytes.each_char do |byte|
              write(byte)
              sleep every
            end
          end

          # Reads until the client closes the connection, and answers nothing.
          def stall
            nil while @stream.readpartial(4096)
          end

          # @raise [EOFError]
          def read_exactly(count)
            bytes = @stream.read(count)
            bytes&.bytesize == count ? bytes : raise(EOFError, "the client left")
          end

          def close = @stream.close
          def half_close = tcp.close_write

          # Closes the TCP connection without ending TLS.
          def close_abruptly = tcp.close

          # Closes the connection with a reset.
          def reset
            tcp.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
            tcp.close
          end

          def tcp = @stream.to_io
          def tls? = !@stream.equal?(tcp)

          private

          # @yield [headers] returns the body
          def read
            line = @stream.gets or return
            verb, target = line.split
            headers = {}
            while (field = @stream.gets&.chomp) && !field.empty?
              name, value = field.split(":", 2)
              headers[name.downcase] = value.to_s.strip
            end
            Request.new(verb, target, headers, yield(headers)).tap { |request| @requests << request }
          end

          def body(headers)
            return @stream.read(headers["content-length"].to_i) if headers["content-length"]
            return "" unless headers["transfer-encoding"]

            body = +""
            while (size = @stream.gets.to_i(16)).positive?
              body << @stream.read(size)
              @stream.gets
            end
            @stream.gets
            body
          end
        end
      end
    end
  end
end
