# frozen_string_literal: true

require_relative "test_helper"
require "rbconfig"
require "trunkline/lab/processes"

module Trunkline
  module Lab
    # The program as a separate process: Ctrl-C, and output to a closed pipe.
    class TestInterrupt < Minitest::Test
      PROGRAM = File.expand_path("../exe/trunkline-lab", __dir__)
      SEEN = 100 # requests until Ctrl-C: the warm-up is over, and some samples are complete by then
      PATIENCE = 30

      def start(*arguments, **options)
        paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
        Process.spawn(RbConfig.ruby, *paths, PROGRAM, *arguments, **options)
      end

      # Interrupts a command that would run endlessly, when its server has received some requests.
      # @return [String] the command's output
      def interrupted(*arguments)
        ready = Queue.new
        open = 0
        out, input = IO.pipe
        Origins::Scripted.open(counting(ready) { |change| open += change }) do |server|
          pid = start(*arguments.map { |argument| argument.sub("URL", "#{server.plain}/") }, out: input, err: input)
          input.close
          wait_for(ready)
          Process.kill("INT", pid)
          status = Processes.wait(pid, PATIENCE)
          text = out.read

          assert_equal STOPPED, status.exitstatus, text
          refute_match(/\.rb:\d+/, text)
          assert_left_by_all { open }
          text
        end
      end

      # Waits with a deadline, so that a server that receives nothing does not stop the suite.
      def wait_for(ready)
        deadline = Clock.now + PATIENCE
        sleep 0.02 while ready.empty? && Clock.now < deadline

        refute_empty ready, "the server has not seen #{SEEN} requests within #{PATIENCE} s"
      end

      # Returns a server script that yields 1 for each opened and -1 for each closed connection.
      def counting(ready)
        seen = 0
        lambda do |connection|
          yield 1
          while connection.request
            connection.answer("hello")
            ready << true if (seen += 1) == SEEN
          end
        ensure
          yield(-1) # in an ensure, since a killed worker may have reset its connection
        end
      end

      def assert_left_by_all
        deadline = Clock.now + PATIENCE
        sleep 0.05 until yield.zero? || Clock.now > deadline

        assert_equal 0, yield, "connections of workers that live on"
      end

      def test_prints_the_results_so_far_and_leaves_no_processes
        out = interrupted("sweep", "URL", "3", "100000", "-c", "1", "--no-limits")

        assert_match(/\| Trunkline \| +1 \|/, out)
        assert_includes out, "Interrupted: these are the results until then."
      end

      def test_load_reports_the_calls_before_the_interrupt
        out = interrupted("load", "-z", "600", "-c", "2", "URL")

        assert_operator out[/^Complete requests: +(\d+)$/, 1].to_i, :>=, SEEN / 2
        assert_match(/^ +50% /, out)
        assert_includes out, "Interrupted: these are the results until then."
      end

      # @param out [IO]
      # @return [Array(Integer, String)] exit status, and the text on standard error
      def ended(*arguments, out:)
        Tempfile.create("trunkline-lab-errors-") do |errors|
          pid = start(*arguments, out: out, err: errors)
          out.close
          status = Processes.wait(pid, PATIENCE)
          [status.exitstatus, File.read(errors.path)]
        end
      end

      def test_writes_its_files_without_an_error_message_when_the_output_pipe_is_closed
        Dir.mktmpdir do |folder|
          file = File.join(folder, "result.json")
          reader, out = IO.pipe
          reader.close

          assert_equal [FAILED, ""], ended("load", "-n", "5", "short", "--json", file, out: out)
          assert_equal "load", JSON.parse(File.read(file))["command"]
        end
      end

      def test_reports_that_its_output_cannot_be_written
        skip "there is no /dev/full" unless File.exist?("/dev/full")
        status, output = ended("--help", out: File.open("/dev/full", "w"))

        assert_equal FAILED, status
        assert_match(/\Atrunkline-lab: No space left on device.*\n\z/, output)
      end
    end
  end
end
