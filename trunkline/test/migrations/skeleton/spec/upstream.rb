# frozen_string_literal: true

require "json"
require "socket"

# The catalog service, on a free port.
class Upstream
  attr_reader :requests

  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
    @requests = []
    @thread = Thread.new { loop { Thread.new(@server.accept) { |socket| serve(socket) } } }
    @thread.report_on_exception = false
  end

  def url = "http://127.0.0.1:#{@server.addr[1]}"

  private

  def serve(socket)
    while (line = socket.gets)
      fields = socket.each_line("\r\n", chomp: true).take_while { |field| !field.empty? }
      length = fields.grep(/^content-length:/i).first.to_s[/\d+/].to_i
      body = length.zero? ? "" : socket.read(length)
      @requests << [line.split.first, line.split[1], body]
      respond(socket, line.split[1], body)
    end
  ensure
    socket.close
  end

  def respond(socket, path, body)
    sleep 3 if path.include?("999")
    status, value =
      case path
      when "/products/404.json" then ["404 Not Found", { error: "unknown" }]
      when "/reservations" then ["201 Created", { reserved: JSON.parse(body)["product"] }]
      else ["200 OK", { name: "product #{path[/\d+/]}" }]
      end
    text = JSON.generate(value)
    socket << "HTTP/1.1 #{status}\r\nContent-Type: application/json\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}"
  end
end
