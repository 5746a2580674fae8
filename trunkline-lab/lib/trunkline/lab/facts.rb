# frozen_string_literal: true

require_relative "preloaded"

module Trunkline
  module Lab
    # For commands that report the behaviour of clients, not their speed.
    module Facts
      private

      # Determines several facts about each client at the same time: the clients mostly wait, so they do not compete for
      # the CPU.
      # @param at_once [Integer] number of threads
      # @param exclusive [#call] takes a name and returns whether nothing else may run at the same time
      # @yield [preloaded, name] in a thread
      # @return [Hash{String => Hash}] label => name => value of the block; without clients that could not be started
      def facts(names, at_once: names.size, exclusive: ->(_) { false }, &block)
        by_client = {}
        loaded = load_all
        @screen.progress(self.class.name, loaded.size) do |advance|
          loaded.each do |preloaded|
            by_client[preloaded.peer.label] = facts_of(preloaded, names, at_once, exclusive, &block)
            advance.call
          end
        end
        by_client
      rescue Interrupt
        @result.interrupted = true
        by_client
      ensure
        loaded&.each(&:stop)
      end

      # @return [Array<Preloaded>] all of them loaded, so that loading one does not slow down the calls of another
      # @raise [Stop] when no client could be loaded
      def load_all
        available, others = peers.partition { |peer| peer.missing.nil? }
        others.each { |peer| @result.missing[peer.label] = peer.missing }
        @screen.busy("starting #{available.map(&:label).join(", ")}")
        loaded = available.filter_map { |peer| load(peer) }.select { |preloaded| loaded?(preloaded) }
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
        preloaded.wait_until_loaded
        versions = preloaded.process(base: Preloaded::NOWHERE) { |process| preloaded.peer.versions(process) }
        @result.clients[preloaded.peer.label] = versions if versions
        true
      rescue PeerProcess::Failed => error
        @result.missing[preloaded.peer.label] = error.message
        preloaded.stop
        false
      end

      def facts_of(preloaded, names, at_once, exclusive)
        single, others = names.partition(&exclusive)
        results = in_threads(others, at_once) { |name| yield preloaded, name }
        results.merge!(in_threads(single, 1) { |name| yield preloaded, name })
        names.to_h { |name| [name, results[name]] }
      end

      # @return [Hash] name => value of the block
      def in_threads(names, at_once)
        results = {}
        left = Queue.new(names).close
        threads = Array.new(at_once) do
          Thread.new do
            while (name = left.pop)
              results[name] = yield name
            end
          end
        end
        threads.each { |thread| thread.report_on_exception = false }
        threads.each(&:value)
        results
      ensure
        threads&.each(&:kill)
        threads&.each { |thread| thread.join if thread.alive? } # each thread stops its servers and processes first
      end
    end
  end
end
