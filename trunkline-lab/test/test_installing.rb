# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "trunkline/lab/preloaded"

module Trunkline
  module Lab
    # Installing the clients' gems, and loading the clients.
    class TestInstalling < Minitest::Test
      include Running

      # A bundle that cannot be installed for some clients.
      def bundle(folder)
        Object.new.tap do |bundle|
          bundle.define_singleton_method(:environment) { folder == "curb" ? raise(Bundle::Failed, "no compiler") : {} }
        end
      end

      def test_install_names_gems_that_cannot_be_installed_and_exits_with_1
        status, out, = Bundle.stub(:new, ->(folder, _) { bundle(folder) }) { lab("install") }

        assert_equal FAILED, status
        assert_includes out, "curb: no compiler"
        assert_match(/\d+ sets of gems are installed, [12] are not\./, out)
      ensure
        Bundle.download = nil
      end

      # Two installations at the same time would write to the same folder.
      def test_one_bundle_is_installed_at_a_time
        inside = most = 0
        run = lambda do |*, **|
          most = [most, inside += 1].max
          sleep 0.05
          inside -= 1
          ["no", Struct.new(:success?).new(false)]
        end
        failed = Processes.stub(:run, run) do
          %w[one two].map { |name| Thread.new { install(name) } }.map(&:value)
        end

        assert_equal [true, true], failed
        assert_equal 1, most
      end

      # @return [Boolean] whether the installation failed
      def install(name)
        Bundle.new(name, { "none" => ">= 0" }).environment
        false
      rescue Bundle::Failed
        true
      end

      # @return [Class] a client whose code raises when it is loaded
      def broken(folder)
        file = File.join(folder, "broken.rb")
        File.write(file,
                   "class BrokenPeer < Trunkline::Lab::Peer\n  label \"broken\"\n  def prepare = raise(LoadError)\nend")
        load file
        BrokenPeer.tap { |peer| Peer.known.delete(peer) }
      end

      def test_a_client_that_cannot_be_loaded_is_reported
        Dir.mktmpdir do |folder|
          preloaded = Preloaded.new(broken(folder))
          error = assert_raises(PeerProcess::Failed) { preloaded.wait_until_loaded }

          assert_equal "its code could not be loaded", error.message
        ensure
          preloaded&.stop
        end
      end

      def test_forks_of_a_preloaded_client_reply_separately
        script = ->(connection) { connection.answer(connection.number.to_s) while connection.request }
        preloaded = Preloaded.new(Peer.named("net_http"))
        preloaded.wait_until_loaded
        Origins::Scripted.open(script) do |server|
          bodies = Array.new(2) do
            preloaded.process(base: server.plain) { |process| process.ask(:probe, call: { path: "/" })[:body] }
          end

          assert_equal %w[1 2], bodies
        end
      ensure
        preloaded&.stop
      end
    end
  end
end
