# frozen_string_literal: true

require_relative "test_helper"
require "rbconfig"
require "trunkline/lab/processes"

module Trunkline
  module Lab
    class TestInterrupt < Minitest::Test
      PROGRAM = File.expand_path("../exe/trunkline-lab", __dir__)
      SEEN = 100 # requests until Ctrl-C: the warm-up is over, and some samples are whole by then
      PATIENCE = 30

      # Sweeps without end against `url`, and interrupts that when the server says so.
      def interrupted(url, ready)
        paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
        out, input = IO.pipe
        endless = ["sweep", url, "3", "100000", "-c", "1", "--no-limits"]
        pid = Process.spawn(RbConfig.ruby, *paths, PROGRAM, *endless, out: input, err: input)
        input.close
        ready.pop
        Process.kill("INT", pid)
        [Processes.wait(pid, PATIENCE), out.read]
      end

      def test_prints_what_it_has_and_leaves_nothing_behind
        ready = Queue.new
        seen = 0
        open = 0
        script = lambda do |connection|
          open += 1
          while connection.request
            connection.answer("hello")
            ready << true if (seen += 1) == SEEN
          end
        ensure
          open -= 1 # a worker that was killed may have left by a reset
        end
        Origins::Scripted.open(script) do |server|
          status, out = interrupted("#{server.plain}/", ready)

          assert_equal STOPPED, status.exitstatus, out
          assert_match(/\| Trunkline \| +1 \|/, out)
          assert_includes out, "Interrupted: this is what there was until then."
          refute_match(/\.rb:\d+/, out)
          deadline = Clock.now + PATIENCE
          sleep 0.05 until open.zero? || Clock.now > deadline

          assert_equal 0, open, "connections of workers that live on"
        end
      end
    end
  end
end
