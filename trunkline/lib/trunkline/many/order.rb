# frozen_string_literal: true

require_relative "followed"
require_relative "../redacted"

module Trunkline
  module Many
    # What all requests of a client among many have in common. Those that are signed have terms of their own.
    #
    # client   that composes them
    # follow   how many redirects they follow
    # auth     what signs them
    # several  whether one may be more than one exchange, which share its total timeout
    # final    whether an answer is the caller's, whatever it says: there is nothing to follow, and no proxy that might
    #          have given it
    Terms = Struct.new(:client, :follow, :auth, :several, :final) do
      include Redacted

      def self.of(client, follow, auth = nil)
        several = follow || auth ? true : false
        new(client, follow, auth, several, !several && !client._composer.forwards?).freeze
      end
    end

    # One request of many: what was asked, and how far it is. A Struct, because one is made for each of a million
    # requests: its members lie in one piece of memory, and are read and set without a call.
    #
    # item, index  what the caller gave, and its place among all that it gave
    # taker        whom the answer is for: a block, a Future, a place in the results, or nil
    # terms        the Terms
    # plan         the Plan; nil while it is not worth its memory
    # lane, started, generation  where it flies: its origin's Lane, since when, and under which generation of the limit
    # id           the engine's number of it
    # deadline, began  monotonic seconds: until when it must be over, redirects and challenges included, and since
    #              when; nil without
    # followed     its redirects and challenges, once there may be one
    Order = Struct.new(:item, :index, :taker, :terms, :plan, :lane, :started, :generation, :id, :deadline, :began,
                       :followed) do
      include Redacted

      # Each is one of its own, whatever it holds.
      alias_method :==, :equal?
      alias_method :eql?, :equal?
      alias_method :hash, :__id__

      # @return [Client]
      def client
        terms.client
      end

      # @return [Request, nil]
      def request
        plan&.request
      end

      # @return [Boolean] whether a result of its exchange may not be the last
      def goes_on?(result)
        followed || Followed.redirect?(result) ? true : false
      end
    end
  end
end
