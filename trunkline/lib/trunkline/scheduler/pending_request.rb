# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  class Scheduler
    # The state of one request of a Scheduler. A Struct, because there may be a million of them: its members are read
    # and set without a method call.
    #
    # item, index  the object that the caller gave, and its index among all items
    # callback     the destination of the result: a block, an index of the results, a Future, or nil
    # policy       the CallPolicy; nil: the call is one exchange
    # plain        true for a GET that was given as a URL alone, without a policy
    # request      the next Request to send; nil while many wait, to save memory
    # queue        the OriginQueue from which it was started; nil when that queue does not count it
    # started, generation
    #              when it was started from the queue (monotonic seconds), and the generation of the limit at that time
    # id           the engine's number of the exchange; nil when there is none
    # caller_context
    #              the CallerContext of the thread that made the call, or nil
    # began, deadline
    #              monotonic seconds for the whole call; nil when the call is one exchange
    # flow         the Flow, once the call's policies run
    # local_result true while it has a result that the engine did not produce
    # streamed     the StreamBlocks that take the parts of the response as they arrive; StreamBlocks::NONE: the parts
    #              are yielded; nil: the response is not streamed
    PendingRequest = Struct.new(:item, :index, :callback, :policy, :plain, :request, :queue, :started, :generation, :id,
                                :caller_context, :began, :deadline, :flow, :local_result, :streamed) do
      include Redacted

      # Compared by identity, as Hash keys too: a Struct would compare its members.
      alias_method :==, :equal?
      alias_method :eql?, :equal?
      alias_method :hash, :__id__

      # Continues with the exchange of another PendingRequest.
      # @param other [PendingRequest]
      # @return [void]
      def take_over(other)
        %i[request queue started generation id].each { |name| self[name] = other[name] }
        other.id = nil
      end

      # @return [Symbol] see RequestBuilder
      def mode = streamed ? :streamed : :buffered

      # @return [Boolean] whether nothing else can refer to it once its result was yielded
      def reusable? = policy.nil? && !streamed

      # @return [Boolean] whether the engine has an exchange for it whose result has not been yielded
      def in_flight? = !id.nil?
    end
  end
end
