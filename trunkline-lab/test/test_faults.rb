# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/facts"
require "trunkline/lab/faults"
require "trunkline/lab/faults/trial"

module Trunkline
  module Lab
    # The table of faulty servers, and the report about a client that calls them.
    class TestFaults < Minitest::Test
      include Running

      FAULTS = Faults::ALL.to_h { |fault| [fault.name, fault] }.freeze
      AT_ONCE = 4

      def test_each_fault_has_a_unique_name_and_a_script_or_place
        assert_equal Faults::ALL.size, FAULTS.size
        Faults::ALL.each do |fault|
          assert fault.script || fault.place, fault.name
          assert_includes Faults::Identities::LEAVES, fault.identity, fault.name if fault.place == :handshake
        end
      end

      # The class of each error is asserted by the client's own tests.
      def test_trunkline_ends_each_call_as_in_the_table_and_the_next_call_succeeds
        floods, others = Faults::ALL.partition(&:flood?)
        results = trials("trunkline", others).merge(trials("trunkline", floods, at_once: 1))
        results.each do |fault, found|
          next assert_equal "not tried", found[:outcome], fault.name if fault.untried
          next if fault.coding && !Trunkline.features[:codings].include?(fault.coding)

          assert_equal fault.body ? "answer" : "error", found[:outcome], "#{fault.name}: #{found}"
          assert_equal "good", found[:after], "#{fault.name}: #{found}" if fault.request_received? && !fault.late
          assert_equal 1, found[:sent], fault.name if fault.warm
        end
      end

      def test_reports_the_outcomes_of_net_http
        names = %i[two_answers slow_body common_name_only close_of_a_kept_connection_on_get nested_bomb gzip_members
                   to_file expired]
        ends = trials("net_http", FAULTS.values_at(*names)).to_h { |fault, found| [fault.name, without_time(found)] }

        assert_equal "answer, next call: a wrong answer", ends[:two_answers]
        assert_equal "no end", ends[:slow_body]
        assert_equal "answer", ends[:common_name_only]
        assert_equal "error, sent 2 times", ends[:close_of_a_kept_connection_on_get]
        assert_equal "as sent", ends[:nested_bomb]
        assert_equal "1 bytes", ends[:gzip_members]
        assert_equal "-", ends[:to_file]
        assert_equal "error", ends[:expired]
      end

      def test_a_killed_process_is_reported_as_a_crash
        result = trial("net_http") { |trial| trial.run(dying) }

        assert_equal %w[crash crash], result.values_at(:outcome, :told)
      end

      def test_the_command_has_a_table_for_each_group_of_faults
        measured("safety", "--client", "trunkline") do |result, out|
          groups = result["tables"].drop(2).map { |table| [table["title"], table["columns"]] }

          assert_equal Faults::ALL.map(&:group).uniq.map { |group| [group, ["the server sends", "Trunkline"]] }, groups
          assert_equal FAULTS.keys.map(&:to_s), result["data"]["faults"]["clients"]["Trunkline"].keys
          assert_match(/^Trunkline, of \d+ faults: each call ended, and none got the response to another call\.$/, out)
        end
      end

      private

      # The reported text without the seconds, which depend on the machine's load.
      def without_time(found) = found[:told].sub(/, \d+\.\d s(?=,|\z)/, "")

      def trial(id)
        preloaded = Preloaded.new(Peer.named(id))
        preloaded.wait_until_loaded
        identities = Faults::Identities.new
        Dir.mktmpdir do |folder|
          authority = File.join(folder, "authority.pem")
          File.write(authority, identities.authority)
          yield Faults::Trial.new(preloaded, identities, authority)
        end
      ensure
        preloaded&.stop
      end

      # @return [Hash] fault => the result of Trial#run
      def trials(id, faults, at_once: AT_ONCE)
        results = {}
        left = Queue.new(faults).close
        Array.new(at_once) do
          Thread.new do
            trial(id) do |one|
              while (fault = left.pop)
                results[fault] = result_of(one, fault)
              end
            end
          end
        end.each(&:join)
        results
      end

      # On a busy machine the server may be too late for the call that follows, but not each time, so this tries three
      # times.
      def result_of(trial, fault)
        found = nil
        3.times do
          found = trial.run(fault)
          break unless found[:after] == "error"
        end
        found
      end

      # The server kills the worker that sent the request; it finds the worker by its end of the connection.
      def dying
        script = lambda do |connection|
          Process.kill("KILL", owner(inode_of_peer(connection)))
          sleep 1
        end
        Faults::Fault.new(group: "Heads", name: :dying, verb: :get, pause: 0, headers: {}, script: script)
      end

      # Searches by both ends: an older connection may have the same port.
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
