# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/facts"
require "trunkline/lab/faults"
require "trunkline/lab/faults/trial"

module Trunkline
  module Lab
    # The table of servers that do wrong, and what is told of a client that meets them.
    class TestFaults < Minitest::Test
      include Running

      FAULTS = Faults::ALL.to_h { |fault| [fault.name, fault] }.freeze
      AT_ONCE = 4

      def test_each_fault_has_a_name_of_its_own_and_something_that_goes_wrong
        assert_equal Faults::ALL.size, FAULTS.size
        Faults::ALL.each do |fault|
          assert fault.script || fault.place, fault.name
          assert_includes Faults::Identities::LEAVES, fault.identity, fault.name if fault.place == :handshake
        end
      end

      # Beside it the tests of the client demand the class of each error.
      def test_trunkline_ends_each_call_as_the_table_has_it_and_answers_the_next
        floods, others = Faults::ALL.partition(&:flood?)
        seen = trials("trunkline", others).merge(trials("trunkline", floods, at_once: 1))
        seen.each do |fault, found|
          next assert_equal "not tried", found[:outcome], fault.name if fault.untried
          next if fault.coding && !Trunkline.features[:codings].include?(fault.coding)

          assert_equal fault.body ? "answer" : "error", found[:outcome], "#{fault.name}: #{found}"
          assert_equal "good", found[:after], "#{fault.name}: #{found}" if fault.asked? && !fault.late
          assert_equal 1, found[:sent], fault.name if fault.warm
        end
      end

      def test_what_net_http_does_is_told
        names = %i[two_answers slow_body common_name_only close_of_a_kept_connection_on_get nested_bomb gzip_members
                   to_file expired]
        told = trials("net_http", FAULTS.values_at(*names)).to_h { |fault, found| [fault.name, without_time(found)] }

        assert_equal "answer, next call: a wrong answer", told[:two_answers]
        assert_equal "no end", told[:slow_body]
        assert_equal "answer", told[:common_name_only]
        assert_equal "error, sent 2 times", told[:close_of_a_kept_connection_on_get]
        assert_equal "as sent", told[:nested_bomb]
        assert_equal "1 bytes", told[:gzip_members]
        assert_equal "-", told[:to_file]
        assert_equal "error", told[:expired]
      end

      def test_a_process_that_dies_is_told
        seen = trial("net_http") { |trial| trial.run(dying) }

        assert_equal %w[crash crash], seen.values_at(:outcome, :told)
      end

      def test_the_command_has_a_table_for_each_group_of_faults
        measured("safety", "--client", "trunkline") do |result, out|
          groups = result["tables"].drop(2).map { |table| [table["title"], table["columns"]] }

          assert_equal Faults::ALL.map(&:group).uniq.map { |group| [group, ["the server sends", "Trunkline"]] }, groups
          assert_equal FAULTS.keys.map(&:to_s), result["data"]["faults"]["clients"]["Trunkline"].keys
          assert_match(/^Trunkline, of \d+ faults: each call ended, and none got another's answer\.$/, out)
        end
      end

      private

      # What is told, but for the seconds, which a busy machine adds.
      def without_time(found) = found[:told].sub(/, \d+\.\d s(?=,|\z)/, "")

      def trial(id)
        preloaded = Preloaded.new(Peer.named(id))
        preloaded.wait_until_it_is_loaded
        identities = Faults::Identities.new
        Dir.mktmpdir do |folder|
          authority = File.join(folder, "authority.pem")
          File.write(authority, identities.authority)
          yield Faults::Trial.new(preloaded, identities, authority)
        end
      ensure
        preloaded&.stop
      end

      # @return [Hash] fault => what Trial#run gives
      def trials(id, faults, at_once: AT_ONCE)
        seen = {}
        left = Queue.new(faults).close
        Array.new(at_once) do
          Thread.new do
            trial(id) do |one|
              while (fault = left.pop)
                seen[fault] = seen_of(one, fault)
              end
            end
          end
        end.each(&:join)
        seen
      end

      # On a busy machine the server may be too late for the call that follows, but not each time.
      def seen_of(trial, fault)
        found = nil
        3.times do
          found = trial.run(fault)
          break unless found[:after] == "error"
        end
        found
      end

      # The worker that asked is found by its end of the connection, and killed.
      def dying
        script = lambda do |connection|
          Process.kill("KILL", owner(inode_of_peer(connection)))
          sleep 1
        end
        Faults::Fault.new(group: "Heads", name: :dying, verb: :get, pause: 0, headers: {}, script: script)
      end

      # By both ends: its port may be that of an older connection, too.
      def inode_of_peer(connection)
        ends = [connection.tcp.remote_address, connection.tcp.local_address].map { |one| format(":%04X", one.ip_port) }
        rows = File.foreach("/proc/net/tcp").map(&:split)
        rows.find { |row| row.values_at(1, 2).zip(ends).all? { |address, port| address.end_with?(port) } }[9]
      end

      def owner(inode)
        path = Dir["/proc/[0-9]*/fd/*"].find { |file| link(file) == "socket:[#{inode}]" }
        path[%r{/proc/(\d+)/}, 1].to_i
      end

      def link(file)
        File.readlink(file)
      rescue SystemCallError
        nil
      end
    end
  end
end
