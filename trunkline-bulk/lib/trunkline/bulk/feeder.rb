# frozen_string_literal: true

require_relative "codec"
require_relative "source"

module Trunkline
  class Bulk
    # Cuts the source of a run into slices as they are needed. Only one worker at a time holds the source; it continues
    # after the items that the previous holder has cut.
    #
    # @api private
    class Feeder
      # Slices that are cut in one transaction.
      AT_ONCE = 4
      # Seconds after which the items that a slow source has given are cut into a slice, and slices are stored.
      PATIENCE = 1.0
      private_constant :PATIENCE

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
        @last_cut = {} # items by their encoded bytes
      end

      # @return [Boolean] whether there are new slices
      # @raise [InvalidItem]
      def cut
        return false if @source_ended

        @feed ||= @state.claim_source(@run_id, @worker, @bulk.settings.lease) or return false
        open_source if @items.nil?
        slices, cursor = next_slices
        @state.add_slices(@feed, slices, cursor, ended: @source_ended)
        slices.any?
      rescue LeaseLost
        @feed = @items = nil
        false
      end

      # @param slice [State::Slice]
      # @return [Array] its items; may be called once for a slice. Items that this worker has just cut are found by
      #   their encoded bytes, and need not be decoded
      # @raise [InvalidItem]
      def items_of(slice) = @last_cut.delete(slice.bytes) || slice.items

      # @return [Boolean] whether this worker has reached the end of the source
      def ended? = !!@source_ended

      # @return [Boolean] whether the last #cut had to wait for the source
      def slow? = !!@slow

      # Releases the source.
      # @return [void]
      def close
        @state.release_source(@feed) if @feed && !@source_ended
        @feed = @items = nil
        @last_cut.clear
      end

      private

      def open_source
        source = Source.of(@bulk.block(:source).call)
        total = source.size if @feed.cursor.nil?
        @state.total(@run_id, total) if total
        @retained = source.retained?
        @cursor = @feed.cursor
        @items = slices_of(source)
      end

      # @return [Enumerator] yields the items of a slice, and the cursor after them
      def slices_of(source)
        size = @bulk.settings.slice
        Enumerator.new do |all|
          items = []
          count = 0
          due = Engine.now + PATIENCE
          source.each_from(@cursor) do |item|
            items << item
            next if items.size < size && Engine.now < due

            all.yield(items, source.cursor(count += items.size))
            items = []
            due = Engine.now + PATIENCE
          end
          all.yield(items, source.cursor(count + items.size)) unless items.empty?
        end
      end

      # @return [Array(Array, Object)] slices and cursor for State#add_slices
      def next_slices
        position = @feed.position
        slices = []
        due = Engine.now + PATIENCE
        @last_cut.clear
        while slices.size < AT_ONCE && (slices.empty? || Engine.now < due)
          items, @cursor = @items.next
          slices << [position, encode(items), items.size]
          position += items.size
        end
        @slow = Engine.now >= due
        [slices, @cursor]
      rescue StopIteration
        @source_ended = true
        [slices, @cursor]
      end

      # Strings that an Array keeps, or that are frozen, are decoded again, because blocks may modify their items.
      def encode(items)
        plain = Codec.plain?(items)
        bytes = Codec.dump(items, plain)
        @last_cut[bytes] = items if plain && !@retained && !items.first.frozen?
        bytes
      end
    end
  end
end
