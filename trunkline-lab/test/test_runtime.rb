# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require_relative "support/peer_elsewhere"

module Trunkline
  module Lab
    # A peer whose worker runs on another Ruby; here the same Ruby with an additional environment variable.
    class TestRuntime < Minitest::Test
      CALL = { verb: "GET", path: "/" }.freeze

      def test_a_peer_runs_on_its_runtime
        PeerElsewhere.stub(:runtime, OtherRuby.new) do
          PeerProcess.open(PeerElsewhere, base: "http://127.0.0.1:9") do |process|
            assert_equal "elsewhere", process.ask(:probe, call: CALL).fetch(:body)
          end
        end
      end

      def test_a_peer_without_a_runtime_runs_on_this_ruby
        PeerProcess.open(PeerElsewhere, base: "http://127.0.0.1:9") do |process|
          assert_equal "here", process.ask(:probe, call: CALL).fetch(:body)
        end
      end

      class OtherRuby
        def command = [RbConfig.ruby, "-W0"]
        def environment = Bundle.bare_environment.merge("PEER_ELSEWHERE" => "elsewhere")
      end
      private_constant :OtherRuby
    end
  end
end
