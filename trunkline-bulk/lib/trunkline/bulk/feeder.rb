# frozen_string_literal: true

require_relative "codec"
require_relative "source"

module Trunkline
  class Bulk
    # Cuts the source of a run into slices as they are needed. One worker at a time has the source; it goes on behind
    # what the one before it has cut.
    #
    # @api private
    class Feeder
      # Slices that are cut in one transaction.
      AT_ONCE = 4

      # @param bulk [Class] of the run
      # @param run_id [Integer]
      # @param state [State]
      # @param worker [String]
      def initialize(bulk, run_id, state, worker)
        @bulk = bulk
        @run_id = run_id
        @state = state
        @worker = worker
        @items = nil
      end

      # @return [Boolean] whether there are new slices
      # @raise [InvalidItem]
      def cut
        return false if @ended

        @feed ||= @state.claim_source(@run_id, @worker, @bulk.settings.lease) or return false
        open_source if @items.nil?
        slices, cursor = next_slices
        @state.add_slices(@feed, slices, cursor, ended: @ended)
        slices.any?
      rescue LeaseLost
        @feed = @items = nil
        false
      end

      # @return [Boolean] whether this worker has cut the last of it
      def ended? = !!@ended

      # Gives the source back.
      # @return [void]
      def close
        @state.release_source(@feed) if @feed && !@ended
        @feed = @items = nil
      end

      private

      def open_source
        source = Source.of(@bulk.block(:source).call)
        total = source.size if @feed.cursor.nil?
        @state.total(@run_id, total) if total
        @cursor = @feed.cursor
        @items = slices_of(source)
      end

      # @return [Enumerator] of the items of a slice, and the cursor behind them
      def slices_of(source)
        size = @bulk.settings.slice
        Enumerator.new do |all|
          items = []
          last = @cursor
          source.each_from(@cursor) do |item, cursor|
            items << item
            last = cursor
            next if items.size < size

            all.yield(items, last)
            items = []
          end
          all.yield(items, last)
        end
      end

      # @return [Array(Array, Object)] what State#add_slices takes
      def next_slices
        position = @feed.position
        slices = []
        while slices.size < AT_ONCE
          items, @cursor = @items.next
          slices << [position, Codec.dump(items), items.size] unless items.empty?
          position += items.size
        end
        [slices, @cursor]
      rescue StopIteration
        @ended = true
        [slices, @cursor]
      end
    end
  end
end
