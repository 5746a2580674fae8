# frozen_string_literal: true

require "puma"
require "puma/server"
require "puma/events"
require "rack"

# A Rack application on a free port, served by Puma inside this process: PumaServer.new { |env| [200, {}, ["ok"]] }
class PumaServer
  attr_reader :port

  def initialize(threads: 5, &application)
    log = Puma::LogWriter.new(StringIO.new, StringIO.new)
    @server = Puma::Server.new(application, nil, { min_threads: 0, max_threads: threads, log_writer: log })
    # Before each response Puma reads TCP_INFO, unless that has failed once: JRuby's buffer of 256 bytes is too small
    # for it on some Linux kernels, and the connection would be closed.
    @server.instance_variable_set(:@precheck_closing, false) if RUBY_ENGINE == "jruby"
    @port = @server.add_tcp_listener("127.0.0.1", 0).addr[1]
    @thread = @server.run
  end

  def url(path = "/") = "http://127.0.0.1:#{port}#{path}"

  def stop
    @server.stop(true)
    @thread.join
  end
end
