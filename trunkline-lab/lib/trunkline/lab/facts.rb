# frozen_string_literal: true

require_relative "bundle"

module Trunkline
  module Lab
    # For commands that find out what clients do, not how fast they are.
    module Facts
      private

      # Several things about each client, found at the same time: nobody needs the processor meanwhile.
      # @yield [peer, name] in a thread of its own
      # @return [Hash{String => Hash}] label => name => what the block gave; without those that cannot be had
      def facts(names)
        seen = {}
        @screen.progress(self.class.name, peers.size) do |advance|
          peers.each do |peer|
            found = side_by_side(peer, names) { |name| yield peer, name }
            seen[peer.label] = found if found
            advance.call
          end
        end
        return seen if seen.any?

        raise Stop, "nothing to measure: #{@result.missing.map { |told| told.join(": ") }.join("; ")}"
      rescue Interrupt
        @result.interrupted = true
        seen
      end

      def side_by_side(peer, names)
        return (@result.missing[peer.label] = peer.missing) && nil if peer.missing

        Bundle.new(peer.id, peer.gems).environment
        threads = names.to_h { |name| [name, Thread.new { yield name }] }
        threads.each_value { |thread| thread.report_on_exception = false }
        threads.transform_values(&:value)
      rescue Bundle::Failed => error
        @result.missing[peer.label] = error.message
        nil
      ensure
        threads&.each_value(&:kill)
      end
    end
  end
end
