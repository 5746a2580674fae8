# frozen_string_literal: true

# Does the tasks of one class in this process: reads one JSON command a line, answers each with one line. Its parent is
# peer_process.rb, and closing its standard input ends it.

require "json"
require "socket"

replies = $stdout.dup
$stdout.reopen($stderr) # what a peer prints must not be taken for an answer

file, name, subject, options = ARGV
require file
tasks = Object.const_get(name).of(subject, **JSON.parse(options, symbolize_names: true))

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
