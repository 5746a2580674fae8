# frozen_string_literal: true

require "trunkline"
require_relative "activity"
require_relative "codec"
require_relative "events"
require_relative "feeder"
require_relative "lease_keeper"
require_relative "limits"
require_relative "origin_backoff"
require_relative "slice_work"
require_relative "state/workers"

module Trunkline
  class Bulk
    # Processes a run in one thread: claims slices, sends the requests of their items with Client#each, and records the
    # results several times a second. The state contains everything that is needed to continue, so that a worker may die
    # at any moment.
    #
    # @api private
    class Worker
      # Seconds between two records.
      INTERVAL = 0.25
      # Seconds until the next attempt to claim a slice, when there was none.
      IDLE = 0.25
      # Items between two checks of the clock.
      CLOCK = 32
      # The number of requests that are timed between two records: enough to find slow origins.
      SAMPLE = 100
      # The maximum number of workers that may die with an item alone in flight.
      MAX_DEATHS = 8
      private_constant :CLOCK, :INTERVAL, :IDLE, :MAX_DEATHS, :SAMPLE

      # @param bulk [Class]
      # @param run [State::Run]
      # @param state [State]
      # @yield called after each record
      def initialize(bulk, run, state, &on_record)
        @bulk_name = bulk.name
        @settings = bulk.settings
        @run = run
        @state = state
        @on_record = on_record
        @name = State::Workers.name
        @feeder = Feeder.new(bulk, run.id, state, @name)
        @backoff = OriginBackoff.new(@settings.hold)
        @robots = Robots.new(@settings.robots, @settings.hold) if @settings.robots
        @works = []
        @current = nil # the one of @works whose items are being sent
        @slices_to_isolate = []
        @unchecked_items = @settled = @sampled = @outstanding = @in_flight = 0
        @times = {}
        @reusable_entry = nil
        @lease_lost = false
        update_fast_path
        use_blocks(bulk)
      end

      # Works until the run is done, paused or cancelled.
      # @return [void]
      def work
        @client = Trunkline.new(nil, client_options)
        activity.join(self)
        LeaseKeeper.run(@state, @run.id, @name, @settings.lease) do
          until stopped?
            send_all
            sleep([@backoff.wait, IDLE].compact.min) unless stopped?
          end
        end
      ensure
        release_slices
        @client&.close
        @robots&.close
      end

      # Called by Client#each for each request.
      # @return [Object, nil] nil if there is no request now, or the run must stop
      def next_request
        until @stopped
          entry = (@fast_path ? @current&.next_entry(@reusable_entry) : next_waiting) || next_entry or return
          @reusable_entry = nil
          request = request_of(entry)
          next skip(entry) if request.nil?

          @context = entry
          @outstanding += 1
          return request
        end
      end

      # @return [Entry] the entry of the request that #next_request returned last
      attr_reader :context

      # @return [Integer] the number of requests in flight, when Client#each last reported it
      attr_reader :in_flight

      private

      def use_blocks(bulk)
        @request, @result, @flush, @refused = %i[request result flush refused].map { |name| bulk.block(name) }
        @with_key = @result.arity != 2
      end

      def client_options
        rate = { per_second: @settings.per_origin, store: store }.compact
        rate.empty? ? @settings.client : { **@settings.client, rate: rate }
      end

      # @return [#pace, nil] nil if the client applies the limits itself
      def store
        redis = Bulk.configuration.redis
        return if redis.nil? && @settings.in_flight.nil? && @robots.nil?

        Limits.at(redis).with(@settings.in_flight, @robots)
      rescue InvalidRequest
        # REDIS_URL may be for something else: without a limit, redis-client is not needed.
        raise if @settings.per_origin || @settings.in_flight

        Limits.at(nil).with(nil, @robots) if @robots
      end

      def stopped?
        @stopped = true if @state.state_of_run(@run.id) != :running
        @stopped
      end

      # Returns when nothing may be sent now. Slices are claimed only as their requests can be sent.
      def send_all
        @recorded_at = now
        options = { concurrency: @settings.concurrency, invalid: :yield, progress: method(:on_progress) }
        @client.each(self, **options) do |entry, result|
          @outstanding -= 1
          handle_result(entry, result)
        end
        record
        send_isolated(@slices_to_isolate.shift) until @slices_to_isolate.empty? || @stopped
      end

      # @return [Entry, nil] an entry that has waited for its origin or its robots.txt
      def next_waiting
        update_fast_path
        while (entry = @backoff.next_entry || @robots&.next_entry)
          return entry unless entry.work.lease_lost?

          @robots&.ended(entry)
        end
      end

      # @return [Entry, nil] the next entry of a slice
      def next_entry
        return if @robots&.full?

        while @current ||= next_slice
          entry = @current.next_entry
          return entry if entry

          @current = nil
        end
      end

      # @return [SliceWork, nil] nil if there is none to send now
      def next_slice
        while (slice = claim)
          @works << work = SliceWork.new(slice, begin_event(slice))
          work.items = @feeder.items_of(slice)
          return work if slice.attempts < [@settings.attempts, 2].max

          @slices_to_isolate << work
        end
      end

      def begin_event(slice)
        Events.start("slice", bulk: @bulk_name, run: @run.key.delete_prefix("#{@bulk_name}/"), slice: slice.id,
                              attempts: slice.attempts, items: slice.positions.size)
      end

      # @return [State::Slice, nil]
      def claim = claim_one || (claim_one if !drain_first? && @feeder.cut)

      # Waiting for a slow source blocks all requests of this thread, so requests in flight are finished first.
      def drain_first? = @feeder.slow? && @outstanding.positive?

      def claim_one = @state.claim(@run.id, @name, @settings.lease)

      # Sends the items of a slice one by one, because its workers have died: an item may have caused that. Before an
      # item is sent, it is recorded that the item is alone in flight. An item has failed when enough workers have died
      # with it alone.
      def send_isolated(work)
        until @stopped || (entry = work.next_entry).nil?
          deaths = work.deaths(entry.index)
          if deaths >= [@settings.attempts, MAX_DEATHS].min
            refuse(entry, "WorkerDied", "#{deaths} workers died while it was the only one on its way")
          else
            work.isolate(entry.index) { send_one(entry) }
          end
        end
        record
      end

      def send_one(entry)
        record
        return if @stopped || entry.work.lease_lost?

        request = request_of(entry)
        @client.each([request], invalid: :yield) { |_, result| handle_result(entry, result) } unless request.nil?
      end

      # @return [Object, nil] nil if no request is to be sent, or not now
      def request_of(entry)
        item = entry.item
        raise InvalidItem, item.message if item.is_a?(Codec::Unusable)

        request = entry.request = @request.call(item)
        return settle(entry, "skipped", nil) if request.nil?

        request if @fast_path || may_send?(entry, request)
      rescue StandardError => error
        refuse(entry, name_of(error), error.message)
      end

      # @return [Boolean] false if the entry waits for its origin, or must not be sent
      def may_send?(entry, request)
        return false if @robots && !permitted?(entry, request)
        return true if entry.held_since

        entry.origin ||= origin_of(request)
        return true unless @backoff.paused?(entry.origin)

        @backoff.hold(entry)
        false
      end

      # @return [Boolean, nil] false if robots.txt forbids the request; nil if the entry waits for the file, or for its
      #   turn
      def permitted?(entry, request)
        entry.origin ||= origin_of(request)
        permitted = @robots.allowed?(entry, entry.origin, url_of(request))
        settle(entry, "robots.txt", nil) if permitted == false
        permitted
      end

      # @return [String, nil] scheme, host and port, as written in the URL
      def origin_of(request) = url_of(request)[%r{\A[^/]+//[^/?#]+}]

      def url_of(request)
        case request
        when Array then request[1]
        when Hash then request[:url]
        else request
        end.to_s
      end

      def handle_result(entry, result)
        sample_time(entry, result) if @sampled < SAMPLE
        status = result.status if result.is_a?(Response)
        if (@fast_path && status && status < OriginBackoff::LEAST_BUSY) || !deferred_or_lost?(entry, result)
          finish(entry, result, status)
          @reusable_entry = entry
        end
        record_in_time if (@unchecked_items += 1) >= CLOCK
      end

      # @return [Boolean] whether to ignore the result, because the item is tried again: later, or by another worker
      def deferred_or_lost?(entry, result)
        @robots&.ended(entry)
        ignored = entry.work.lease_lost? || deferred?(entry, result)
        update_fast_path
        ignored
      end

      # Sets whether no item has to wait and no slice was lost, so that the checks for each item can be skipped.
      def update_fast_path
        @fast_path = @robots.nil? && !@lease_lost && @backoff.unused?
      end

      def record_in_time
        @unchecked_items = 0
        record if now - @recorded_at > INTERVAL
      end

      # Also records here, because many items in a row may need no request.
      def skip(entry)
        @robots&.ended(entry)
        record_in_time if (@unchecked_items += 1) >= CLOCK
      end

      # Called several times a second, also while no request ends.
      def on_progress(progress)
        @in_flight = progress.in_flight
        record if now - @recorded_at > INTERVAL
      end

      def sample_time(entry, result)
        @sampled += 1
        seconds = result.is_a?(Response) ? result.timings.total : (result.elapsed if result.is_a?(Error))
        origin = origin_of(entry.request) if seconds
        return if origin.nil?

        time = @times[origin.sub(%r{//.*@}, "//")] ||= [0, 0.0] # without a password
        time[0] += 1
        time[1] += seconds
      end

      def deferred?(entry, result)
        pause = @backoff.pause_of(result)
        return false if pause.nil? && @backoff.unused?

        entry.origin ||= origin_of(entry.request)
        return @backoff.defer?(entry, pause) if pause

        @backoff.origin_responded(entry)
        false
      end

      # @param status [Integer, nil] nil if there is no response
      def finish(entry, result, status)
        return refuse(entry, name_of(result), unnumbered(result)) unless status || result.is_a?(Error)

        @with_key ? @result.call(entry.item, result, key_of(entry)) : @result.call(entry.item, result)
        return entry.work.settle(entry, status, nil) if status

        settle(entry, name_of(result), result.message)
      rescue StandardError => error
        settle(entry, "result: #{name_of(error)}", error.message)
      end

      # Removes the request's number from the beginning of a message of Client#each: it is not a number of an item.
      def unnumbered(error) = error.message.sub(/\Arequest \d+: /, "")

      # Finishes an item that has no request, and so no result.
      # @return [nil]
      def refuse(entry, outcome, message)
        @refused&.call(entry.item, "#{outcome}: #{message}", key_of(entry))
        settle(entry, outcome, message)
      end

      def key_of(entry) = "#{@run.key}/#{entry.work.position(entry.index)}"

      # @return [nil]
      def settle(entry, outcome, message)
        entry.work.settle(entry, outcome, message)
        nil
      end

      def record
        @flush&.call
        @works.each { |work| @settled += work.record(@state) }
        ended, @works = @works.partition { |work| work.complete? || work.lease_lost? }
        @lease_lost ||= ended.any?(&:lease_lost?)
        update_fast_path
        ended.each(&:finish)
        report_activity
        @recorded_at = now
        stopped?
        @on_record&.call
      end

      def activity = @activity ||= Activity.of(@state, @run.id)

      def report_activity
        activity.add(@settled, @times)
        @settled = @sampled = 0
        @times = {}
      end

      # Releases unfinished slices, so that other workers can claim them.
      def release_slices
        activity.leave(self)
        record
      ensure
        @works.each { |work| @state.release(work.slice) }
        @works.each(&:finish)
        @feeder.close
      end

      # The name of an anonymous class is that of its nearest ancestor with a name.
      def name_of(error)
        (error.class.name || error.class.ancestors.grep(Class).find(&:name).name).delete_prefix("Trunkline::")
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
