# frozen_string_literal: true

require "socket"

module Trunkline
  module Lab
    module Origins
      # A server that runs a script for each connection, in a thread of its own. An IOError or SystemCallError in the
      # script is caused by the client, and is part of the experiment.
      class Scripted
        # One connection: reads requests whole.
        class Connection
          # A request as it came.
          Request = Struct.new(:verb, :path, :headers, :body)

          attr_reader :number

          def initialize(socket, number)
            @socket = socket
            @number = number
          end

          # @return [Request, nil] nil at the end
          def request
            line = @socket.gets or return
            verb, path = line.split
            headers = {}
            while (field = @socket.gets&.chomp) && !field.empty?
              name, value = field.split(":", 2)
              headers[name.downcase] = value.to_s.strip
            end
            Request.new(verb, path, headers, body(headers))
          end

          def answer(text, status: "200 OK", headers: {})
            fields = headers.map { |name, value| "#{name}: #{value}\r\n" }.join
            write("HTTP/1.1 #{status}\r\nContent-Length: #{text.bytesize}\r\n#{fields}\r\n#{text}")
          end

          def write(bytes) = @socket.write(bytes)

          # Reads whatever comes and answers nothing.
          def swallow
            nil while @socket.readpartial(4096)
          end

          private

          def body(headers)
            return @socket.read(headers["content-length"].to_i) if headers["content-length"]
            return "" unless headers["transfer-encoding"]

            whole = +""
            while (size = @socket.gets.to_i(16)).positive?
              whole << @socket.read(size)
              @socket.gets
            end
            @socket.gets
            whole
          end
        end

        # @yield [server]
        def self.open(script)
          server = new(script)
          yield server
        ensure
          server&.stop
        end

        # @param script [#call] given each Connection
        def initialize(script)
          @script = script
          @listener = TCPServer.new("127.0.0.1", 0)
          @accepted = 0
          @threads = [Thread.new { accept }]
        end

        def port = @listener.addr[1]
        def plain = "http://127.0.0.1:#{port}"
        def tls = "https://127.0.0.1:#{port}"

        def stop
          @threads.each(&:kill).each(&:join)
          @listener.close
        end

        private

        def accept
          loop do
            socket = @listener.accept
            socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
            number = @accepted += 1
            @threads << Thread.new { serve(socket, number) }
          end
        end

        def serve(socket, number)
          @script.call(Connection.new(socket, number))
        rescue IOError, SystemCallError
          nil # the client gave up
        ensure
          socket.close
        end
      end

      # A listener whose queue is full, so that no further connection is accepted.
      class FullQueue
        FILLERS = 4

        def self.open
          listener = Socket.new(:INET, :STREAM)
          listener.bind(Addrinfo.tcp("127.0.0.1", 0))
          listener.listen(0)
          address = listener.local_address
          fillers = Array.new(FILLERS) do
            Socket.new(:INET, :STREAM).tap { |socket| socket.connect_nonblock(address, exception: false) }
          end
          yield "http://127.0.0.1:#{address.ip_port}"
        ensure
          fillers&.each(&:close)
          listener&.close
        end
      end
    end
  end
end
