# frozen_string_literal: true

# Replaces WebMock's own spec_helper for its examples of Net::HTTP (see compare.rb): without other clients, and with
# local servers in place of the public ones. INSTALL is the time of install!: "never", or "before" or "after" WebMock.

source = ENV.fetch("WEBMOCK_SOURCE")
$LOAD_PATH.unshift(File.join(source, "spec"), File.join(source, "lib"))
$LOADED_FEATURES << File.join(source, "spec/support/webmock_server.rb")

def install
  require "trunkline/net_http"
  Trunkline::NetHTTP.install!
end

install if ENV["INSTALL"] == "before"
require "webmock/rspec"
install if ENV["INSTALL"] == "after"

require "openssl"
require "ostruct"
require "singleton"
require "socket"
require "support/failures"
require "support/my_rack_app"
require_relative "../../../support/certificate_authority"

CURL_EXAMPLE_OUTPUT_PATH = File.join(source, "spec/support/example_curl_output.txt")
HTTP_STATUS_SERVICE = "http://status.test"

# The servers of the examples.
class WebMockServer
  include Singleton

  # The response of WebMock's own server, which is one byte longer than its Content-Length.
  OWN = "HTTP/1.1 200 OK\r\nDate: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Type: text/html\r\nContent-Length: 11\r\n" \
        "Set-Cookie: bar\r\nSet-Cookie: foo\r\n\r\nhello world\n"

  attr_reader :port

  def initialize
    @port = serve(TCPServer.new("127.0.0.1", 0)) do |socket|
      head(socket)
      socket.write(OWN)
    end
    public_servers
  end

  def host_with_port = "localhost:#{port}"

  private

  # Replaces the status service, Google and the other public servers.
  def public_servers
    tls = OpenSSL::SSL::SSLServer.new(TCPServer.new("127.0.0.1", 443), TestCA.server_context)
    [TCPServer.new("127.0.0.1", 80), tls].each do |listener|
      serve(listener) do |socket|
        while (line = head(socket))
          status = line.include?("/201") ? "201 Created" : "200 OK"
          text = listener.equal?(tls) ? "<title>Google</title>" : status.ljust(11)
          socket.write("HTTP/1.1 #{status}\r\nServer: Kestrel\r\nContent-Length: #{text.size}\r\n\r\n#{text}")
        end
      end
    end
  end

  # @return [String, nil] the request line
  def head(socket)
    line = socket.gets or return
    length = 0
    while (field = socket.gets) && field != "\r\n"
      length = Integer(field[/\d+/]) if field.start_with?(/content-length:/i)
    end
    socket.read(length)
    line
  end

  def serve(listener, &script)
    Thread.new { loop { Thread.new(listener.accept) { |socket| converse(socket, &script) } } }
    listener.addr[1]
  end

  def converse(socket)
    yield socket
  rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
    nil # the client has closed the connection
  ensure
    socket.close
  end
end

# Replaces the gem rspec-retry, which is not needed: no example fails intermittently.
RSpec::Core::Example::Procsy.class_eval { def run_with_retry(**) = run }

RSpec.configure do |config|
  config.filter_run_excluding without_webmock: true
  config.include Failures
  config.before(:suite) { WebMockServer.instance }
end
