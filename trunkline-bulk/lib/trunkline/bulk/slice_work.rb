# frozen_string_literal: true

require_relative "state"

module Trunkline
  class Bulk
    # One item on its way: of which slice, and where in it. A worker uses one again for another item.
    #
    # @api private
    class Entry
      # @return [SliceWork]
      attr_reader :work
      # @return [Integer]
      attr_reader :index
      # @return [Object]
      attr_reader :item

      # @return [Object] what was asked for it, in a form of Client#each
      attr_accessor :request
      # @return [String, nil] its origin, and since when that has been held back (monotonic seconds); known of those
      #   alone that were held
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

    # A claimed slice, and what has come of its items since it was last recorded.
    #
    # @api private
    class SliceWork
      # How State::Slice#recorded marks an item that is over, and one that is not.
      OVER = "1".ord
      OPEN = "0".ord
      # Of an item that was the only one on its way when its worker died, that many times.
      ALONE = { OPEN => 0, **(1..8).to_h { |times| [OVER + times, times] } }.freeze
      private_constant :ALONE, :OPEN, :OVER

      # @return [State::Slice]
      attr_reader :slice

      # @return [Array] of the slice; each is removed when it is taken
      attr_writer :items

      # @param slice [State::Slice]
      # @param told [Events::Begun, nil] of its end
      def initialize(slice, told = nil)
        @slice = slice
        @told = told
        @all = Hash.new(0) if told
        @recorded = slice.recorded.dup
        @outcomes = [] # of items that are over, since it was last recorded
        @failures = []
        @positions = slice.positions.to_a
        @next = 0
        @lost = @marked = false
      end

      # @param entry [Entry, nil] one that may be used again
      # @return [Entry, nil] the next of the items that were not over when it was claimed; nil: each was taken
      def take(entry = nil)
        items = @items
        until (index = @next) == items.size || @lost
          @next = index + 1
          next if @recorded.getbyte(index) == OVER

          item = items[index]
          items[index] = nil # its entry has it, for no longer than it is needed
          return (entry || Entry.new).set(self, index, item)
        end
      end

      # @param index [Integer]
      # @return [Integer] how many workers have died with this item alone on its way
      def deaths(index) = ALONE.fetch(@recorded.getbyte(index))

      # Has it recorded that an item is the only one on its way, while the block runs: what is recorded of it after that
      # is said by #settle, or it is as it was.
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
      # @return [Integer] where the item is in the source
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

      # @return [Boolean] whether each item is over
      def complete? = @recorded.count("^1").zero?

      # @return [Boolean] whether another worker has it now
      def lost? = @lost

      # @param state [State]
      # @return [Integer] items that are over since the last time
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
