# frozen_string_literal: true

# Runs the tasks of one class in this process: reads one JSON command per line and answers each with one line. The
# parent process (peer_process.rb) ends it by closing its standard input. With "preload" (preloaded.rb) it only loads
# the code of the tasks. Its standard input is then a socket, and for each message on it, it forks a worker.

require "json"
require "socket"

replies = $stdout.dup
$stdout.reopen($stderr) # output of a peer must not be read as a reply

file, name, subject, options, preload = ARGV
require file
make = ->(text) { Object.const_get(name).of(subject, **JSON.parse(text, symbolize_names: true)) }

work = lambda do |tasks|
  trap("INT") { tasks.stop! if tasks.respond_to?(:stop!) } # the parent got Ctrl-C and wants the results so far
  while (line = $stdin.gets)
    command = JSON.parse(line, symbolize_names: true)
    reply =
      begin
        { "ok" => tasks.public_send(command.delete(:task), **command) }
      rescue Exception => error # rubocop:disable Lint/RescueException -- a worker reports whatever a peer throws
        { "error" => error.class.name, "message" => error.message.to_s[0, 300].scrub }
      end
    replies.puts(JSON.generate(reply, ascii_only: true)) # independent of the locale
    replies.flush
  end
end

tasks = make.call(options)
if preload
  parent = UNIXSocket.for_fd(0)
  parent.send("ready", 0)
  loop do
    message, _, _, rights = parent.recvmsg(scm_rights: true)
    break if rights.nil?

    commands, *outputs = rights.unix_rights
    pid = fork do
      Process.setpgid(0, 0)
      parent.close
      $stdin = commands
      replies, errors = outputs
      [$stdout, $stderr].each { |stream| stream.reopen(errors) }
      work.call(make.call(message))
      exit!(0)
    end
    Process.detach(pid)
    [commands, *outputs].each(&:close)
    parent.send(pid.to_s, 0)
  end
else
  work.call(tasks)
end
