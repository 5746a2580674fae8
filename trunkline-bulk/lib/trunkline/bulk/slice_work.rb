# frozen_string_literal: true

require_relative "state"

module Trunkline
  class Bulk
    # An item that a worker processes: its slice, and its index there. A worker reuses an Entry for another item.
    #
    # @api private
    class Entry
      # @return [SliceWork]
      attr_reader :work
      # @return [Integer]
      attr_reader :index
      # @return [Object]
      attr_reader :item

      # @return [Object] the item's request, in a form that Client#each accepts
      attr_accessor :request
      # @return [String, nil] the origin, once it was needed; monotonic seconds since when the item has been held back,
      #   if it was
      attr_accessor :origin, :held_since

      # @return [Entry] itself
      def set(work, index, item)
        @work = work
        @index = index
        @item = item
        @origin = @held_since = nil
        self
      end
    end

    # A claimed slice, and the results of its items since they were last recorded.
    #
    # @api private
    class SliceWork
      # The marks in State::Slice#recorded of an item that is finished, and of one that is not.
      FINISHED = "1".ord
      UNFINISHED = "0".ord
      # The marks of items that were alone in flight when a worker died, each with the number of deaths.
      ISOLATED = { UNFINISHED => 0, **(1..8).to_h { |times| [FINISHED + times, times] } }.freeze
      private_constant :FINISHED, :ISOLATED, :UNFINISHED

      # @return [State::Slice]
      attr_reader :slice

      # @return [Array] the slice's items; each is removed when #next_entry returns it
      attr_writer :items

      # @param slice [State::Slice]
      # @param event [Events::StartedEvent, nil] the event to finish at the end of the slice
      def initialize(slice, event = nil)
        @slice = slice
        @event = event
        @total_counts = Hash.new(0) if event
        @recorded = slice.recorded.dup
        @outcomes = [] # of items that were finished since the last record
        @failures = []
        @positions = slice.positions.to_a
        @next_index = 0
        @lease_lost = @marked = false
      end

      # @param entry [Entry, nil] an Entry to reuse
      # @return [Entry, nil] the next item that was not finished when the slice was claimed; nil if all were taken
      def next_entry(entry = nil)
        items = @items
        until (index = @next_index) == items.size || @lease_lost
          @next_index = index + 1
          next if @recorded.getbyte(index) == FINISHED

          item = items[index]
          items[index] = nil # only the entry refers to the item now, so that it can be freed early
          return (entry || Entry.new).set(self, index, item)
        end
      end

      # @param index [Integer]
      # @return [Integer] how many workers have died while this item was alone in flight
      def deaths(index) = ISOLATED.fetch(@recorded.getbyte(index))

      # Marks an item as the only one in flight while the block runs. Afterwards the mark is removed, unless #settle has
      # finished the item.
      # @param index [Integer]
      # @yield
      def isolate(index)
        before = @recorded.getbyte(index)
        mark(index, FINISHED + [deaths(index) + 1, ISOLATED.size - 1].min)
        yield
      ensure
        mark(index, before) unless @recorded.getbyte(index) == FINISHED
      end

      # @param index [Integer]
      # @return [Integer] the item's position in the source
      def position(index) = @positions[index]

      # @param entry [Entry] of this slice
      # @param outcome [Integer, String] a status, or a name
      # @param message [String, nil] of a failure
      # @return [void]
      def settle(entry, outcome, message)
        @recorded.setbyte(entry.index, FINISHED)
        @outcomes << outcome
        @failures << State::Failure.new(position(entry.index), entry.item, outcome, message) if message
      end

      # @return [Boolean] whether every item is finished
      def complete? = @recorded.count("^1").zero?

      # @return [Boolean] whether another worker has taken the slice over
      def lease_lost? = @lease_lost

      # @param state [State]
      # @return [Integer] the number of items finished since the last call
      def record(state)
        counts = @outcomes.tally.transform_keys(&:to_s)
        state.record(@slice, @recorded.dup, counts, @failures) unless (counts.empty? && !@marked) || @lease_lost
        counts.sum(&:last)
      rescue LeaseLost
        @lease_lost = true
        0
      ensure
        @total_counts&.update(counts) { |_, one, more| one + more }
        @outcomes.clear
        @failures.clear
        @marked = false
      end

      # @return [void]
      def finish
        outcome = lease_lost? ? :lost : :released
        @event&.finish(outcome: complete? ? :complete : outcome, counts: @total_counts)
        @event = nil
      end

      private

      def mark(index, byte)
        @recorded.setbyte(index, byte)
        @marked = true
      end
    end
  end
end
