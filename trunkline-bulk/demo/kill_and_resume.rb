# frozen_string_literal: true

# Kills the process of a bulk run in the middle, and resumes the run; bin/demo runs this file.

require "rbconfig"
require "socket"
require "tmpdir"
require "trunkline/bulk"

COUNT = 20_000

# A server that answers each request, and counts the requests.
class Origin
  attr_reader :port, :requests

  def initialize
    @listener = TCPServer.new("127.0.0.1", 0)
    @port = @listener.addr[1]
    @requests = 0
    Thread.new { loop { Thread.new(@listener.accept) { |socket| serve(socket) } } }
  end

  private

  def serve(socket)
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while socket.gets
      nil until socket.gets == "\r\n"
      @requests += 1
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    end
  rescue SystemCallError
    nil # its client was killed
  end
end

def start(folder, *more)
  command = [RbConfig.ruby, "-e", 'require "trunkline/bulk/command"; exit Trunkline::Bulk::Command.run(ARGV)', "run",
             "#{folder}/urls.txt", "--out", "#{folder}/results.jsonl.gz", "--no-progress", *more]
  Process.spawn(*command)
end

Dir.mktmpdir("trunkline-bulk-demo-") do |folder|
  origin = Origin.new
  File.write("#{folder}/urls.txt", Array.new(COUNT) { |number| "http://127.0.0.1:#{origin.port}/#{number}\n" }.join)
  puts "trunkline-bulk run urls.txt --out results.jsonl.gz   (#{COUNT} URLs)"
  pid = start(folder)
  sleep 0.01 until origin.requests > COUNT / 3
  Process.kill(:KILL, pid)
  Process.wait(pid)
  puts "killed (SIGKILL) after #{origin.requests} requests"
  puts "trunkline-bulk run urls.txt --out results.jsonl.gz --resume"
  Process.wait(start(folder, "--resume"))
  keys = IO.popen(["gzip", "-dc", "#{folder}/results.jsonl.gz"], &:readlines).map { |line| line[/"key":"([^"]+)"/, 1] }
  abort "#{keys.uniq.size} of #{COUNT} results" unless keys.uniq.size == COUNT
  puts "#{keys.uniq.size} URLs have a result; #{origin.requests - COUNT} requests were made a second time"
end
