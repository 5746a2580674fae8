# frozen_string_literal: true

# Runs one peer in this process: reads one JSON command a line, answers each with one line. Its parent is
# peer_process.rb, and closing its standard input ends it.

require "json"
require "socket"
require_relative "tasks"

replies = $stdout.dup
$stdout.reopen($stderr) # what a peer prints must not be taken for an answer

kind, file, options = ARGV
options = JSON.parse(options, symbolize_names: true)
tasks =
  case kind
  when "http"
    require_relative "peer"
    require file
    peer = Trunkline::Lab::Peer.known.find { |known| known.file == file }
    Trunkline::Lab::Tasks.new(peer.new(**options))
  when "xml"
    require_relative "xml_tasks"
    Trunkline::Lab::XMLTasks.new(file)
  end

while (line = $stdin.gets)
  command = JSON.parse(line, symbolize_names: true)
  reply =
    begin
      { "ok" => tasks.public_send(command.delete(:task), **command) }
    rescue Exception => error # rubocop:disable Lint/RescueException -- a worker reports whatever a peer throws
      { "error" => error.class.name, "message" => error.message.to_s[0, 300].scrub }
    end
  replies.puts(JSON.generate(reply))
  replies.flush
end
