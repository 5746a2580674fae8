# frozen_string_literal: true

# Serves one of the lab's Rack applications with Puma. Usage: ruby puma_server.rb SETTINGS (JSON). Prints its ports,
# plain and TLS, in one line on standard output, and runs until a signal ends it.

require "json"
require "puma"
require "puma/server"
require "puma/minissl"

settings = JSON.parse(ARGV.fetch(0), symbolize_names: true)
if settings[:file]
  require settings[:file]
  app = Object.const_get(settings[:app]).new(**settings[:options])
else
  require_relative "apps"
  app = Trunkline::Lab::Origins::Apps.named(settings[:app], **settings[:options])
end

threads = settings[:threads]
log = defined?(Puma::LogWriter) ? { log_writer: Puma::LogWriter.null } : {}
server = Puma::Server.new(app, nil, min_threads: threads, max_threads: threads, **log)
server.add_tcp_listener("127.0.0.1", 0, true, 1024)
context = Puma::MiniSSL::Context.new
context.cert = settings[:cert]
context.key = settings[:key]
context.verify_mode = Puma::MiniSSL::VERIFY_NONE
server.add_ssl_listener("127.0.0.1", 0, context)
running = server.run
$stdout.puts(JSON.generate(server.connected_ports))
$stdout.flush
running.join
