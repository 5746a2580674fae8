# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "trunkline/lab/commands/load"

module Trunkline
  module Lab
    # When a run counts as a result, and how it is described.
    class TestResult < Minitest::Test
      TIGHT = [100.0, 101.0, 102.0, 100.5, 101.5].freeze
      LOOSE = [10.0, 100.0, 1000.0, 20.0, 700.0].freeze

      # @param foreign [Float] the share of the machine that other programs used
      def result(samples, foreign: 0.0, timed: true)
        noise = Struct.new(:foreign).new(foreign)
        Noise.stub(:new, noise) do
          result = Result.new(command: "load", title: "t", arguments: [], timed: timed)
          result.figure(samples, name: "requests/s", unit: "requests/s", key: true)
          result.tap(&:close)
        end
      end

      def test_a_quiet_machine_and_samples_close_together_make_a_result
        assert_equal ["result", []], [result(TIGHT).state, result(TIGHT).noise]
      end

      def test_a_run_beside_busy_programs_is_noisy
        noisy = result(TIGHT, foreign: 0.4)

        assert_equal "noisy", noisy.state
        assert_equal ["other programs took 40 % of the CPU during the run"], noisy.noise
      end

      def test_a_run_with_scattered_samples_is_noisy
        noisy = result(LOOSE)

        assert_equal "noisy", noisy.state
        assert_match(%r{\Arequests/s is only known to within \d+ %\z}, noisy.noise.first)
      end

      def test_facts_need_no_quiet_machine
        assert_equal "facts", result(LOOSE, foreign: 0.9, timed: false).state
      end

      def test_carries_its_environment
        environment = result(TIGHT).to_h[:environment]

        assert_equal %i[date commit machine versions load_before clients load_after].sort, environment.keys.sort
        assert_equal [VERSION, Trunkline::VERSION], environment[:versions].values_at(:lab, :trunkline)
      end

      # @return [Integer] exit status
      def noisy_run(*options)
        Noise.stub(:new, Struct.new(:foreign).new(0.9)) do
          CLI.run(["clients", "1", "1", "--client", "net_http", "--no-limits", "--quiet", *options],
                  out: StringIO.new, err: StringIO.new)
        end
      end

      def test_a_noisy_run_exits_with_3_unless_noise_is_accepted
        assert_equal NOISY, noisy_run
        assert_equal DONE, noisy_run("--accept-noise")
      end

      def test_removes_secrets_from_the_command_line
        secrets = ["http://user:secret@example.test/", "Authorization: Bearer secret", "X-Api-Key:secret"]
        hidden = Result.new(command: "load", title: "t", arguments: [*secrets, "-n5"]).to_h[:arguments]

        assert_equal ["http://[hidden]@example.test/", "Authorization: [hidden]", "X-Api-Key: [hidden]", "-n5"], hidden
      end

      # The verdict of `load` on a run in which its own process was busy for that share of the time.
      def verdict(share)
        command = Commands::Load.new(out: StringIO.new, err: StringIO.new)
        result = result(TIGHT)
        command.instance_variable_set(:@result, result)
        sample = { cpu: share, wall: 1.0, errors: {}, statuses: { "200": 10 }, requests: 10 }
        command.instance_variable_set(:@sample, sample)
        command.send(:verdicts)
        result.sentences
      end

      def test_load_reports_that_the_client_is_the_limit
        assert_equal ["The client is the limit, not the server: it took 97 % of a core."], verdict(0.97)
        assert_empty verdict(0.5)
      end
    end
  end
end
