# frozen_string_literal: true

# Runs one peer in this process: reads one JSON command a line, answers each with one line. Its parent is
# support/peer_process.rb, and closing its standard input ends it.

require "json"
require "socket"
require "uri"
require_relative "processes"
require_relative "peer"
require_relative "tasks"

replies = $stdout.dup
$stdout.reopen($stderr) # what a peer prints must not be taken for an answer

file, id, options = ARGV
require file
peer = Bench::Peer.named(id).new(**JSON.parse(options, symbolize_names: true))
tasks = Bench::Tasks.new(peer)

while (line = $stdin.gets)
  command = JSON.parse(line, symbolize_names: true)
  reply =
    begin
      { "ok" => tasks.public_send(command.delete(:task), **command) }
    rescue Exception => error # rubocop:disable Lint/RescueException -- a worker reports whatever a peer throws
      { "error" => error.class.name, "message" => error.message.to_s.scrub.lines.first.to_s.chomp[0, 300] }
    end
  replies.puts(JSON.generate(reply))
  replies.flush
end
