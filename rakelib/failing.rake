# frozen_string_literal: true

require_relative "support/command"

desc "Each allocation and system call of the engine fails in turn (WAYS=get,batch LISTENERS=plain,tls,h2 CALLS=malloc)"
task failing: :compile do
  require_relative "../trunkline/test/failing/calls"
  ways, listeners, calls = %w[WAYS LISTENERS CALLS].map { |name| ENV.fetch(name, "all") }
  ways = "get post upload streamed future fiber batch each" if ways == "all"
  Dir.mktmpdir do |folder|
    environment = { "LD_PRELOAD" => Calls.build(folder) }
    ended = Command.at_once(ways.split(/[ ,]/)) do |way|
      Command.show(environment, RbConfig.ruby, "-W0", "-Itrunkline/lib", "-Itrunkline/test",
                   "trunkline/test/failing/failing.rb", way, listeners, calls, "300", chdir: ROOT).last
    end
    abort "calls of the system failed, and their callers were not told right" unless ended.all?(&:success?)
  end
end
