# frozen_string_literal: true

require "etc"

# Runs programs whose output is both shown while they run and returned; and runs several in parallel.
module Command
  module_function

  # Shows the program's output and errors as they are written. Returns [output, Process::Status].
  def show(*command, **options)
    output = +""
    status = nil
    IO.popen(command, err: %i[child out], **options) do |pipe|
      pipe.each_line do |line|
        $stdout.write(line)
        $stdout.flush # so that later messages on $stderr appear after this output
        output << line.scrub
      end
      pipe.close
      status = Process.last_status
    end
    [output, status]
  end

  # Runs the block for each item, for `count` items in parallel.
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
