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
      # The client that composes it, how many redirects it follows, and what signs it.
      attr_reader :client, :follow, :auth
      # Whether it may be more than one exchange, which share its total timeout.
      attr_reader :several
      alias several? several
      # Where it flies: its origin's Lane, since when, and under which generation of the limit.
      attr_reader :lane, :started, :generation
      # The engine's number of it.
      attr_accessor :id
      # Monotonic seconds: until when it must be over, redirects and challenges included, and since when. nil without.
      attr_accessor :deadline, :began
      # Its redirects and challenges, once there may be one.
      attr_accessor :followed

      def initialize(item, index, taker)
        @item = item
        @index = index
        @taker = taker
      end

      def composed(client, plan, follow, auth)
        @client = client
        @plan = plan
        @follow = follow
        @auth = auth
        @several = follow || auth ? true : false
      end

      # @return [Request, nil]
      def request
        plan&.request
      end

      # @return [Boolean] whether a result of its exchange may not be the last
      def goes_on?(result)
        @followed || Followed.redirect?(result) ? true : false
      end

      def fly(lane, now, generation)
        @lane = lane
        @started = now
        @generation = generation
      end
    end
  end
end
