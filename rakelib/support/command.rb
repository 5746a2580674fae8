# frozen_string_literal: true

# Runs programs that are to be seen while they run, and read when they have ended.
module Command
  module_function

  # Shows what it prints, errors too, as it comes. Returns [output, Process::Status].
  def show(*command, **options)
    output = +""
    IO.popen(command, err: %i[child out], **options) do |pipe|
      pipe.each_line do |line|
        $stdout.write(line)
        $stdout.flush # what is said on $stderr afterwards comes afterwards
        output << line.scrub
      end
    end
    [output, Process.last_status]
  end
end
