# frozen_string_literal: true

require_relative "child_server"

# Debian's tinyproxy.
class Tinyproxy < ChildServer
  class << self
    def url = "http://127.0.0.1:#{instance.port}"
    def instance = @instance ||= new("tinyproxy").tap(&:start)
  end

  attr_reader :port

  def start
    super do
      @port, = FreePort.take(1)
      file = File.join(directory, "tinyproxy.conf")
      File.write(file, "Port #{@port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogLevel Error\n")
      [[@port], ["tinyproxy", "-d", "-c", file]]
    end
  end
end
