# frozen_string_literal: true

require_relative "preloaded"

module Trunkline
  module Lab
    # For commands that report what clients do, not how fast they are.
    module Facts
      private

      # Finds several facts about each client at the same time: the clients mostly wait, so they do not need the CPU.
      # @yield [preloaded, name] in a thread of its own
      # @return [Hash{String => Hash}] label => name => what the block gave; without those that cannot be had
      def facts(names)
        seen = {}
        loaded = load_all
        @screen.progress(self.class.name, loaded.size) do |advance|
          loaded.each do |preloaded|
            seen[preloaded.peer.label] = in_threads(names) { |name| yield preloaded, name }
            advance.call
          end
        end
        seen
      rescue Interrupt
        @result.interrupted = true
        seen
      ensure
        loaded&.each(&:stop)
      end

      # @return [Array<Preloaded>] all ready, so that loading one does not slow the calls of another
      # @raise [Stop] when there is none
      def load_all
        able, others = peers.partition { |peer| peer.missing.nil? }
        others.each { |peer| @result.missing[peer.label] = peer.missing }
        @screen.busy("starting #{able.map(&:label).join(", ")}")
        loaded = able.filter_map { |peer| load(peer) }.select { |preloaded| loaded?(preloaded) }
        return loaded if loaded.any?

        raise Stop, "nothing to measure: #{reasons}"
      end

      def load(peer)
        Preloaded.new(peer)
      rescue Bundle::Failed => error
        @result.missing[peer.label] = error.message
        nil
      end

      def loaded?(preloaded)
        preloaded.wait_until_it_is_loaded
        versions = preloaded.process(base: Preloaded::NOWHERE) { |process| preloaded.peer.versions(process) }
        @result.clients[preloaded.peer.label] = versions if versions
        true
      rescue PeerProcess::Failed => error
        @result.missing[preloaded.peer.label] = error.message
        preloaded.stop
        false
      end

      def in_threads(names)
        threads = names.to_h { |name| [name, Thread.new { yield name }] }
        threads.each_value { |thread| thread.report_on_exception = false }
        threads.transform_values(&:value)
      ensure
        threads&.each_value(&:kill)
        threads&.each_value { |thread| thread.join if thread.alive? } # until its servers and processes are stopped
      end
    end
  end
end
