# frozen_string_literal: true

require "socket"
require "tmpdir"
require_relative "lab"

module Bench
  # squid as an open HTTP proxy that keeps nothing but connections, on the origin's core.
  class Squid
    START_SECONDS = 10

    def self.missing = ("squid is not installed (bin/setup installs it)" unless Processes.available?("squid"))

    # Yields a started proxy; it is stopped whatever happens.
    def self.open
      Dir.mktmpdir("trunkline-squid-") do |folder|
        squid = new(folder)
        begin
          yield squid.start
        ensure
          squid.stop
        end
      end
    end

    def initialize(folder)
      @folder = folder
      @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    end

    def url = "http://127.0.0.1:#{@port}"

    def start
      File.chmod(0o777, @folder) # it gives its rights up
      File.write(File.join(@folder, "squid.conf"), configuration)
      @pid = Processes.spawn(Processes.available?("squid"), "-N", "-f", File.join(@folder, "squid.conf"),
                             core: Processes::ORIGIN_CORE, %i[out err] => File::NULL)
      wait_until_it_listens
      self
    end

    def stop = Processes.stop(@pid, signal: "KILL")

    private

    def wait_until_it_listens
      deadline = Clock.now + START_SECONDS
      begin
        TCPSocket.new("127.0.0.1", @port).close
      rescue SystemCallError
        raise Limits::Failed, "squid did not start" if Clock.now > deadline || Process.wait(@pid, Process::WNOHANG)

        sleep 0.05
        retry
      end
    end

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
