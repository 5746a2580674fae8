# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  class Scheduler
    # One request that a Scheduler was given, and its state. A Struct, because there is one for each of a million
    # requests: its members are read and set without a call.
    #
    # item, index  what the caller gave, and its index among all that it gave
    # callback     who gets the result: a block, an index of the results, a Future, or nil
    # policy       the CallPolicy; nil: the call is one exchange
    # plain        true for a GET of which nothing but its URL was given, without a policy
    # request      what is to be sent next; nil while many wait, to save memory
    # queue        the OriginQueue that it was started from; nil when that does not count it (any more)
    # started, generation
    #              when it was started from there (monotonic seconds), and the limit's generation then
    # id           the engine's number of the exchange; nil when there is none
    # surroundings the Surroundings of the thread that asked for it, or nil
    # began, deadline
    #              monotonic seconds for the whole call; nil when one exchange is all
    # flow         the Flow, from where the call's policies run on
    # answered     true while it has a result that the engine did not give
    # streamed     true when the parts of the response are yielded as they arrive; StreamBlocks that take them; or nil
    PendingRequest = Struct.new(:item, :index, :callback, :policy, :plain, :request, :queue, :started, :generation, :id,
                                :surroundings, :began, :deadline, :flow, :answered, :streamed) do
      include Redacted

      # Compared by identity, as Hash keys too: a Struct would compare its members.
      alias_method :==, :equal?
      alias_method :eql?, :equal?
      alias_method :hash, :__id__

      # Goes on with the exchange of another one.
      # @param other [PendingRequest]
      # @return [void]
      def take_over(other)
        %i[request queue started generation id].each { |name| self[name] = other[name] }
        other.id = nil
      end

      # @return [Boolean] whether nobody else can refer to it once its result was yielded
      def reusable? = policy.nil? && !streamed

      # @return [Boolean] whether the engine has it, or the caller has not been given its result
      def in_flight? = !id.nil?
    end
  end
end
