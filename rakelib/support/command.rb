# frozen_string_literal: true

require "etc"

# Runs programs, to be seen while they run and read when they have ended, and several at once.
module Command
  module_function

  # Shows what it prints, errors too, as it comes. Returns [output, Process::Status].
  def show(*command, **options)
    output = +""
    status = nil
    IO.popen(command, err: %i[child out], **options) do |pipe|
      pipe.each_line do |line|
        $stdout.write(line)
        $stdout.flush # what is said on $stderr afterwards comes afterwards
        output << line.scrub
      end
      pipe.close
      status = Process.last_status
    end
    [output, status]
  end

  # Runs the block for each item, for so many items at a time.
  #
  # @return [Array] what the block returned for each item, in the items' order
  def at_once(items, count = Etc.nprocessors, &block)
    waiting = Queue.new
    items.each_index { |at| waiting << at }
    waiting.close
    results = Array.new(items.size)
    threads = Array.new(count) do
      Thread.new do
        while (at = waiting.pop)
          results[at] = block.call(items[at])
        end
      end
    end
    threads.each(&:join)
    results
  end
end
