# frozen_string_literal: true

require "tmpdir"
require_relative "subprocess"

# Runs a program in separate namespaces (Linux: mount and network), where the test controls /etc/hosts and the name
# server: a name with two addresses, a name server that never responds. It needs no root where users may create
# namespaces.
module NetworkNamespace
  SETUP = <<~SHELL
    ip link set lo up
    for name in hosts resolv.conf nsswitch.conf; do mount --bind "$0/$name" "/etc/$name"; done
    exec "$@"
  SHELL
  ENTER = %w[unshare --map-root-user --mount --net sh -ec].freeze

  module_function

  def available?
    @available = system(*ENTER, "ip link set lo up", %i[out err] => File::NULL) if @available.nil?
    @available
  end

  # The code can use `server`: a UDP socket on the name server's address, on which the program may respond or not.
  def run(code, **options) = run_command(Subprocess.command(PRELUDE + code), **options)

  # @param command [Array<String>] a program that itself serves the name server's address
  def run_command(command, hosts: "127.0.0.1 localhost\n")
    Dir.mktmpdir do |directory|
      { "hosts" => hosts, "resolv.conf" => "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n",
        "nsswitch.conf" => "hosts: files dns\n" }
        .each { |name, content| File.write(File.join(directory, name), content) }
      command = [*ENTER, SETUP, directory, *command]
      Subprocess::Result.new(*Subprocess.run_command({}, command))
    end
  end

  PRELUDE = <<~'RUBY'
    require "socket"
    server = UDPSocket.new
    server.bind("127.0.0.1", 53)
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def respond_forever(address, text, port = 0)
      listener = TCPServer.new(address, port)
      bytes = "HTTP/1.1 200 OK\r\nContent-Length: #{text.size}\r\n\r\n#{text}"
      serve = lambda do |socket|
        socket.write(bytes) while socket.readpartial(9999)
      rescue SystemCallError, EOFError
        socket.close
      end
      Thread.new { loop { Thread.new(listener.accept, &serve) } }
      listener.addr[1]
    end
  RUBY
  private_constant :PRELUDE
end
