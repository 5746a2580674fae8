# frozen_string_literal: true

require_relative "../cancelled"
require_relative "../interrupts"
require_relative "../progress"
require_relative "../redacted"
require_relative "../scheduler"
require_relative "request_reader"

module Trunkline
  class Scheduler
    # Pulls requests from an Enumerable when they can be sent, and yields their results in order of completion.
    class Each
      include Redacted

      # @param source [Enumerable] of requests in any form (RequestReader)
      # @param builder [CallBuilder]
      # @param options [BatchOptions]
      def initialize(source, builder, options)
        @reader = RequestReader.new(builder)
        # An Enumerator runs its block in a fiber, which a source with next_request does not need.
        @custom_source = source.respond_to?(:next_request)
        @contexts = @custom_source && source.respond_to?(:context)
        # Requests with contexts stay composed: their items are not kept, so they cannot be composed again.
        @scheduler = Scheduler.new(builder.pool_handle.pool, options, @contexts ? nil : @reader)
        @options = options
        @reuse_bodies = options.reuse_bodies
        @progress = Progress::Reporter.for(options.progress)
        @source = source
        @checked = {} # by index
        @index = 0
        @enumerator = nil # for a source that is no Array
        @exhausted = false
      end

      # @yield [item, result, index]
      # @return [nil]
      def run(&block)
        Interrupts.watch
        @yielding = block if @options.invalid == :yield
        @source.is_a?(Array) && @yielding.nil? ? check : @enumerator = (@source.to_enum unless @custom_source)
        drive(&block)
        @progress&.finish(@scheduler)
        nil
      ensure
        Cancelled.notify(unfinished, @options.on_cancel)
      end

      private

      # An Array with an invalid request is refused before anything is sent. Each request is composed to be checked; the
      # first COMPOSED of them are kept.
      def check
        scratch = PendingRequest.new
        index = -1
        while (index = @reader.next_unusual(@source, index + 1))
          pending = @checked.size < COMPOSED ? @checked[index] = PendingRequest.new : scratch
          @reader.read(@source[index], index, pending)
        end
      rescue InvalidRequest, MissingTimeout
        @source = [].freeze
        raise
      end

      # @return [Array<Object>] the requests without a result: those that were pulled, and the rest of an Array
      def unfinished
        left = @scheduler.close.sort_by(&:index)
        return left.map(&:item) unless @source.is_a?(Array)

        # An interrupt may have come after a request was added and before @index was increased.
        following = [@index, *left.last(1).map { |pending| pending.index + 1 }].max
        left.map(&:item).concat(@source.drop(following))
      end

      def drive
        progress = @progress
        reuse_bodies = @reuse_bodies
        pull
        until @exhausted && @scheduler.idle?
          @scheduler.run_once(progress && Progress::INTERVAL, pulling: !@exhausted) do |pending, result, status|
            Interrupts.raise_non_standard_error(result) unless status
            progress&.count(result)
            yield pending.item, result, pending.index
            result._empty if reuse_bodies && result.is_a?(Response)
            # The next request starts at once: the limiter learns only from results that came while all slots were used.
            pull_one(pending)
          end
          progress&.report_if_due(@scheduler)
          pull
        end
      end

      def pull
        nil while pull_one
      end

      # @param ended [PendingRequest, nil] the request that has ended; used again if nothing else can refer to it
      # @return [true, nil] nil: no request may be added, or the source is exhausted
      def pull_one(ended = nil) # rubocop:disable Metrics/CyclomaticComplexity, Metrics/PerceivedComplexity -- for speed
        return if @exhausted || !@scheduler.room?

        item = if @custom_source then @source.next_request
               else @enumerator ? take : @source[@index]
               end
        return if item.nil? && exhausted?

        checked = @checked.delete(@index) unless @checked.empty?
        begin
          ended = PendingRequest.new unless ended && (ended.plain || ended.reusable?)
          pending = checked || @reader.read(item, @index, ended)
          pending.item = @source.context if @contexts
          @scheduler.add(pending)
        rescue InvalidRequest, MissingTimeout => error
          yield_refused(item, error)
        end
        @index += 1
        true
      end

      # @raise [InvalidRequest, MissingTimeout] the error itself, unless invalid: is :yield
      def yield_refused(item, error)
        raise error if @yielding.nil?

        @progress&.count(error)
        @yielding.call(@contexts ? @source.context : item, error, @index)
      end

      # Called when the next item is nil. An Enumerable may yield nil as an item, which is then refused as a request.
      def exhausted?
        @exhausted ||= @custom_source || (@enumerator.nil? && @index >= @source.size)
      end

      def take
        Interrupts.with_rethrow { @enumerator.next }
      rescue StopIteration
        @exhausted = true
        nil
      end
    end
  end
end
