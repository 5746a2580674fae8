# frozen_string_literal: true

# Replaces WebMock's own spec_helper, which requires every client that WebMock supports. WEBMOCK_SOURCE is WebMock's
# source with its examples, which its newer gems do not contain. The examples run with the library of that source.

source = ENV.fetch("WEBMOCK_SOURCE") { abort "WEBMOCK_SOURCE: must be a directory with WebMock's source" }
$LOAD_PATH.unshift(File.join(source, "spec"), File.join(source, "lib"))

require "singleton"
require "socket"
require "trunkline"
require "webmock/rspec"
require "trunkline/webmock"
require "support/failures"
require "support/my_rack_app"

CURL_EXAMPLE_OUTPUT_PATH = File.join(source, "spec/support/example_curl_output.txt")
# Named in the examples and never called: examples that need a public server are filtered out.
HTTP_STATUS_SERVICE = "http://status.test"

# The only real server of the examples.
class WebMockServer
  include Singleton

  ANSWER = "HTTP/1.1 200 OK\r\nDate: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Type: text/html\r\n" \
           "Content-Length: 11\r\nSet-Cookie: bar\r\nSet-Cookie: foo\r\nConnection: close\r\n\r\nhello world"

  def host_with_port
    "localhost:#{port}"
  end

  def port
    @port ||= listen
  end

  private

  def listen
    listener = TCPServer.new("127.0.0.1", 0)
    Thread.new { loop { serve(listener.accept) } }
    listener.addr[1]
  end

  def serve(socket)
    nil until socket.gets == "\r\n"
    socket.write(ANSWER)
    socket.close
  end
end

RSpec.configure do |config|
  config.filter_run_excluding net_connect: true, without_webmock: true
  config.include Failures
end
