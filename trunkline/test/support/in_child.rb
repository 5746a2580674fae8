# frozen_string_literal: true

# Helpers for tests of forking.
module InChild
  private

  # Runs the block in a child; returns a lambda that waits for the child, and returns the block's result as text.
  def in_child
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.write(yield.to_s)
      writer.close
    rescue Exception => error # rubocop:disable Lint/RescueException -- the parent must see it
      writer.write("#{error.class}: #{error.message}\n#{error.backtrace&.first(5)&.join("\n")}")
    ensure
      exit!(0)
    end
    writer.close
    lambda do
      Process.wait(pid)
      reader.read
    ensure
      reader.close
    end
  end
end
