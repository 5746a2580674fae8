# frozen_string_literal: true

require_relative "child_server"

# httpbin as Debian packages it, for responses in the forms that real services use.
class Httpbin < ChildServer
  # Debian's interpreter by path: another python3 in PATH does not see Debian's packages.
  PYTHON = "/usr/bin/python3"
  PROGRAM = <<~PYTHON
    import sys
    from werkzeug.serving import run_simple, WSGIRequestHandler
    from httpbin import app
    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
  PYTHON

  class << self
    def instance = @instance ||= new.tap(&:start)
    def url(path = "/") = "http://127.0.0.1:#{instance.port}#{path}"
  end

  attr_reader :port

  def initialize = super("httpbin")

  def start
    super do
      @port = FreePort.take
      [[@port], [PYTHON, "-c", PROGRAM, @port.to_s]]
    end
  end
end
