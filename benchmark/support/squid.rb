# frozen_string_literal: true

require "socket"
require "trunkline/lab/origins/nginx"
require_relative "lab"

module Bench
  # squid as an open HTTP proxy that caches nothing but keeps connections, on the origin's core.
  class Squid
    extend Lab::Origins::InFolder

    START_SECONDS = 10

    def self.missing = ("squid is not installed (bin/setup installs it)" unless Processes.available?("squid"))

    def initialize(folder)
      @folder = folder
      @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    end

    def url = "http://127.0.0.1:#{@port}"

    def start
      File.chmod(0o777, @folder) # squid drops its privileges
      File.write(File.join(@folder, "squid.conf"), configuration)
      @pid = Processes.spawn(Processes.available?("squid"), "-N", "-f", File.join(@folder, "squid.conf"),
                             core: Processes::ORIGIN_CORE, %i[out err] => File::NULL)
      listens = Processes.answers?(@pid, START_SECONDS) { TCPSocket.new("127.0.0.1", @port).close }
      raise Limits::Failed, "squid did not start" unless listens

      self
    end

    def stop = Processes.stop(@pid, signal: "KILL")

    private

    def configuration
      <<~SQUID
        http_port 127.0.0.1:#{@port}
        http_access allow all
        cache deny all
        access_log none
        cache_log #{@folder}/cache.log
        pid_filename #{@folder}/squid.pid
        coredump_dir #{@folder}
        shutdown_lifetime 0 seconds
      SQUID
    end
  end
end
