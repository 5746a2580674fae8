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
      OVER = "1".ord
      OPEN = "0".ord
      # The marks of items that were alone in flight when a worker died, each with the number of deaths.
      ALONE = { OPEN => 0, **(1..8).to_h { |times| [OVER + times, times] } }.freeze
      private_constant :ALONE, :OPEN, :OVER

      # @return [State::Slice]
      attr_reader :slice

      # @return [Array] the slice's items; each is removed when it is taken
      attr_writer :items

      # @param slice [State::Slice]
      # @param told [Events::Begun, nil] the event to finish at the end of the slice
      def initialize(slice, told = nil)
        @slice = slice
        @told = told
        @all = Hash.new(0) if told
        @recorded = slice.recorded.dup
        @outcomes = [] # of items that were finished since the last record
        @failures = []
        @positions = slice.positions.to_a
        @next = 0
        @lost = @marked = false
      end

      # @param entry [Entry, nil] an Entry to reuse
      # @return [Entry, nil] the next item that was not finished when the slice was claimed; nil if all were taken
      def take(entry = nil)
        items = @items
        until (index = @next) == items.size || @lost
          @next = index + 1
          next if @recorded.getbyte(index) == OVER

          item = items[index]
          items[index] = nil # only the entry refers to the item now, so that it can be freed early
          return (entry || Entry.new).set(self, index, item)
        end
      end

      # @param index [Integer]
      # @return [Integer] how many workers have died while this item was alone in flight
      def deaths(index) = ALONE.fetch(@recorded.getbyte(index))

      # Marks an item as the only one in flight while the block runs. Afterwards the mark is removed, unless #settle has
      # finished the item.
      # @param index [Integer]
      # @yield
      def alone(index)
        before = @recorded.getbyte(index)
        mark(index, OVER + [deaths(index) + 1, ALONE.size - 1].min)
        yield
      ensure
        mark(index, before) unless @recorded.getbyte(index) == OVER
      end

      # @param index [Integer]
      # @return [Integer] the item's position in the source
      def position(index) = @positions[index]

      # @param entry [Entry] of this slice
      # @param outcome [Integer, String] a status, or a name
      # @param message [String, nil] of a failure
      # @return [void]
      def settle(entry, outcome, message)
        @recorded.setbyte(entry.index, OVER)
        @outcomes << outcome
        @failures << State::Failure.new(position(entry.index), entry.item, outcome, message) if message
      end

      # @return [Boolean] whether every item is finished
      def complete? = @recorded.count("^1").zero?

      # @return [Boolean] whether another worker has taken the slice over
      def lost? = @lost

      # @param state [State]
      # @return [Integer] the number of items finished since the last call
      def record(state)
        counts = @outcomes.tally.transform_keys(&:to_s)
        state.record(@slice, @recorded.dup, counts, @failures) unless (counts.empty? && !@marked) || @lost
        counts.sum(&:last)
      rescue LeaseLost
        @lost = true
        0
      ensure
        @all&.update(counts) { |_, one, more| one + more }
        @outcomes.clear
        @failures.clear
        @marked = false
      end

      # @return [void]
      def finish
        outcome = lost? ? :lost : :released
        @told&.finish(outcome: complete? ? :complete : outcome, counts: @all)
        @told = nil
      end

      private

      def mark(index, byte)
        @recorded.setbyte(index, byte)
        @marked = true
      end
    end
  end
end
