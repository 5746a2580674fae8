# frozen_string_literal: true

module Trunkline
  module Many
    # One request of many: what was asked, and how far it is.
    class Order
      # What the caller gave, and its place among all that it gave.
      attr_reader :item, :index
      # Whom the answer is for: a block, a Future, or nil.
      attr_reader :taker
      # The Plan; nil while it is not worth its memory.
      attr_accessor :plan
      # The client that composes it, and how many redirects it follows.
      attr_accessor :client, :follow
      # Where it flies: its origin's Lane, since when, under which generation of the limit, the engine's number of it.
      attr_accessor :lane, :started, :generation, :id
      # Monotonic seconds: until when it must be over, redirects included, and since when. nil without redirects.
      attr_accessor :deadline, :began
      # Its redirects, once there was one.
      attr_accessor :followed

      def initialize(item, index, taker)
        @item = item
        @index = index
        @taker = taker
      end

      # @return [Request, nil]
      def request
        plan&.request
      end

      def fly(lane, now, generation)
        @lane = lane
        @started = now
        @generation = generation
      end
    end
  end
end
