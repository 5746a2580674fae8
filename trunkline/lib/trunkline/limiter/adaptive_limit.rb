# frozen_string_literal: true

require_relative "base_latency"
require_relative "baseline"
require_relative "epoch"

module Trunkline
  class Limiter
    # Finds the smallest limit that keeps 95 % of the best goodput: above it, requests only wait longer. Goodput is
    # measured in epochs; it decides whether a limit that was tried is kept.
    #
    #   :start       doubles the limit while goodput grows
    #   :cruise      keeps the limit, and measures the baseline that probes are compared with
    #   :probe_up    tries a higher limit; kept when goodput is higher
    #   :probe_down  tries a lower limit; kept when no goodput is lost
    #   :descent     tries a much lower limit, since requests wait at the server; kept when little goodput is lost
    #
    # A limit that is kept is followed by a larger step in the same direction. Back-pressure lowers the limit at once,
    # and sets a ceiling for a while.
    #
    # Responses come at irregular times, so each goodput has a standard error (#doubt). Where the error is large, steps
    # down are large, so that a loss is measurable, and a step that failed by less than the error is tried once more.
    class AdaptiveLimit
      START = 16
      CRUISE_EPOCHS = 3
      # Seconds: an epoch may be extended to this length for a smaller standard error.
      LONGEST = { start: 0.3, cruise: 0.5, probe_up: 0.9, probe_down: 0.9, descent: 0.9 }.freeze
      # Relative gain of goodput that each doubling in :start must bring.
      START_GAIN = 0.15
      KEPT_SHARE = 0.95
      # A probe up is kept when goodput grows by UP_SHARE of the growth of the limit, or by the larger of UP_GAIN and
      # UP_ERRORS standard errors, whichever is less: a client that is itself busy gains little by each step up, and
      # much by all of them.
      UP_SHARE = 0.35
      UP_GAIN = 0.05
      UP_ERRORS = 3
      UP = 1.4
      UP_ON = 1.6
      DOWN = 0.8
      DOWN_ON = 0.65
      DOWN_FIRST = 0.5
      # Share of the goodput that a lower limit may lose: usually; where noise hides a small loss; and when the limit is
      # halved, since more would be lost if half were too small.
      DOWN_LOSS = 0.03
      NOISY_LOSS = 0.06
      HALVING_LOSS = 0.1
      # A probe of full length with more doubt cannot distinguish a small loss from none.
      NOISY = 0.03
      # A baseline with more doubt than this is measured once more.
      MAX_BASELINE_ERROR = 0.1
      # A probe whose outcome is this many standard errors from the threshold ends early.
      CLEAR = 2.5
      # Number of failed probes up that are not followed by a probe down, after one that clearly lost goodput.
      SKIPPED_PROBES = 3
      # When goodput changes at the same limit by this share and by CLEAR standard errors, the server has changed.
      SHIFT = 0.25
      # Share of the goodput that a descent must keep: at a server that is slow but has no queue, goodput falls as much
      # as the limit.
      DESCENT_SHARE = 0.8
      # A descent sets the limit to this multiple of the number of requests that the server handles at once.
      SLACK = 1.25
      # Seconds until a limit that met back-pressure is tried again: the next value each time, then always the last.
      CEILING_SECONDS = [4.0, 8.0, 16.0, 32.0, 64.0].freeze

      attr_reader :limit, :state, :generation, :last_probe, :why
      attr_writer :maximum

      # @param maximum [Integer]
      # @param remembered [Integer, nil] limit found by an earlier limiter
      def initialize(maximum:, remembered: nil)
        @maximum = maximum
        @limit = [remembered || START, maximum].min
        @epoch = Epoch.new
        @generation = 0
        @tried = {}
        @skipped_probes = 0
        @retried = false
        @latency = BaseLatency.new
        @base = Baseline.new
        forget_ceiling
        @why = remembered ? "remembered" : "starting"
        remembered ? cruise : enter(:start)
      end

      # A request ended with a response other than back-pressure.
      # @param latency [Float] seconds from its start
      # @param generation [Integer] #generation when it was started
      # @param full [Boolean] whether as many were in flight as the limit allows
      def on_success(now, latency, generation, full)
        unless @epoch.open?
          @epoch.open(now) if generation == @generation
          return
        end
        return unless @epoch.turn?(latency, full)

        decided = @epoch.ready?(now) { |goodput, error| clear?(goodput, error) }
        conclude(now) if decided
      end

      # Back-pressure: the server refused a request because it has too many.
      # @param accepted [Integer] how many requests in flight the server is known to accept
      # @param what [String] the reason
      def on_overload(now, accepted, what)
        before = @limit
        @limit = accepted.clamp(1, @limit)
        @rejected_descent = nil
        raise_ceiling(now, @limit)
        @why = "#{what}: from #{before} to #{@limit}"
        # Refusals come in groups: later ones must not end the descent that the first one began.
        @state == :start || @down == DOWN_FIRST ? descend : cruise
      end

      private

      def enter(state, limit = @limit)
        @state = state
        if limit != @limit
          @limit = limit
          @generation += 1
        end
        quick = state == :start
        @epoch.prepare(@limit, rounds: quick ? 1 : 2, target: quick ? 0.12 : 0.04, longest: LONGEST.fetch(state))
      end

      def cruise(epochs = CRUISE_EPOCHS)
        @generation += 1
        @base.again(@limit)
        @left = epochs
        @up = UP
        @down = DOWN
        enter(:cruise)
      end

      # Returns whether a probe's outcome is clear, so that it may end early.
      def clear?(goodput, error)
        return false if @state == :cruise || @state == :start

        (goodput / @base.goodput - threshold).abs > CLEAR * Math.hypot(error, @base.error) + 0.02
      end

      def threshold
        case @state
        when :probe_up then 1 + gain_wanted
        when :descent then DESCENT_SHARE
        else 1 - @loss
        end
      end

      def gain_wanted
        sure = [UP_GAIN, UP_ERRORS * doubt].max
        [UP_SHARE * (@limit.to_f / @settled_limit - 1), sure].min
      end

      def conclude(now)
        if @epoch.starved?
          @why = "no more to send than #{@limit} at a time"
          return enter(@state)
        end
        @latency.seen(@epoch.median)
        goodput = @epoch.goodput
        case @state
        when :start then started(goodput)
        when :cruise then cruised(now, goodput)
        when :probe_up then probed_up(now, goodput)
        when :probe_down then probed_down(now, goodput)
        when :descent then descended(goodput)
        end
      end

      # ---- start ----

      def started(goodput)
        best = @tried.values.max || 0.0
        @tried[@limit] = goodput
        more = [@limit * 2, @maximum].min
        if goodput >= best * (1 + START_GAIN) && more > @limit && !@latency.too_long?(@epoch.median)
          @why = "goodput grows: #{@limit} to #{more}"
          return enter(:start, more)
        end

        best = @tried.values.max
        chosen = @tried.select { |_, value| value >= KEPT_SHARE * best }.keys.min
        @why = "the least of #{@tried.keys.join(", ")} with #{percent(KEPT_SHARE)} of the best goodput"
        @limit = chosen
        descend
      end

      # :start overshoots, so the limit is halved as long as goodput stays.
      def descend
        cruise(1)
        @down = DOWN_FIRST
        @next = :down
      end

      # ---- cruise ----

      def cruised(now, goodput)
        share = @base.goodput && (goodput / @base.goodput)
        return shifted(share) if share && (share - 1).abs > [SHIFT, CLEAR * doubt].max

        @base.add(@epoch)
        @left -= 1
        return enter(:cruise) if @left.positive? || (@left.zero? && @base.error > MAX_BASELINE_ERROR)

        @settled_limit = @limit
        @settled_latency = @epoch.median
        leave(now) unless @rejected_descent && descent_confirmed?
      end

      def leave(now)
        return descent if @limit > 1 && @latency.queued?(@settled_latency)

        @next == :down ? probe_down : probe_up(now)
      end

      # The server changed: earlier measurements no longer hold, and the best limit may be far away.
      def shifted(share)
        faster = share > 1
        @latency.faster(@epoch.median) if faster
        @why = "goodput #{change(share)}: the server is another one, measuring anew"
        @base.forget
        @skipped_probes = 0
        cruise(1)
        @next = faster ? :up : :down
        faster ? @up = UP_ON : @down = DOWN_ON
      end

      # ---- descent ----

      # Requests take much longer than the base latency. If they wait at the server, fewer requests in flight give the
      # same goodput. If the server has become slower, goodput falls with the limit, and the base latency is raised.
      def descent
        less = (@latency.served(@limit, @epoch.median) * SLACK).ceil.clamp(1, @limit - 1)
        enter(:descent, less)
      end

      def descended(goodput)
        share = goodput / @base.goodput
        kept = share >= threshold
        note_probe(share, kept)
        unless kept
          @rejected_descent = { limit: @limit, goodput: goodput, share: threshold, median: @epoch.median }
          @limit = @settled_limit
          @base.forget
        end
        @latency.slower(@epoch.median) if @latency.queued?(@epoch.median)
        cruise(kept ? 1 : 2)
        @next = :up
      end

      # The server may have changed after the baseline of a descent was measured, so the baseline is measured again.
      # @return [Boolean] whether the descent is kept after all
      def descent_confirmed?
        rejected = @rejected_descent
        @rejected_descent = nil
        if rejected[:goodput] < rejected[:share] * @base.goodput
          @latency.slower(rejected[:median])
          return false
        end
        @limit = rejected[:limit]
        cruise(1)
        true
      end

      # ---- probes ----

      def probe_up(now)
        more = [(@settled_limit * @up).ceil, @settled_limit + 1].max
        more = [more, @maximum, ceiling(now)].min
        return enter(:probe_up, more) unless more <= @settled_limit || @latency.too_long?(@epoch.median)

        @last_probe = "none up: #{more <= @settled_limit ? "at the ceiling" : "requests take too long"}"
        probe_down
      end

      def probed_up(now, goodput)
        share = goodput / @base.goodput
        return discard_probe(share) if share > (@limit.to_f / @settled_limit) * (1 + 1.5 * doubt)

        kept = share >= threshold
        note_probe(share, kept)
        if kept
          forget_ceiling if @ceiling && @limit >= @ceiling
          return probe_further(now, goodput, :up)
        end

        @limit = @settled_limit
        @up > UP ? grown : not_grown
      end

      # The limit was raised once, then too far: the next probes are between the two limits, then below.
      def grown
        cruise(1)
        @next = :up
        @down = DOWN_FIRST
      end

      def not_grown
        if @skipped_probes.positive?
          @skipped_probes -= 1
          cruise
        else
          @generation += 1
          probe_down
        end
      end

      def probe_down
        @next = :up
        @large = @down == DOWN && noisy?
        @loss = @large ? NOISY_LOSS : DOWN_LOSS
        @loss = HALVING_LOSS if @down == DOWN_FIRST
        less = [(@settled_limit * (@large ? DOWN_ON : @down)).round, @settled_limit - 1].min
        return cruise if less < 1

        enter(:probe_down, less)
      end

      def probed_down(now, goodput)
        share = goodput / @base.goodput
        return discard_probe(share) if share < (@limit.to_f / @settled_limit) * (1 - 2 * doubt)

        kept = share >= threshold && (@large || share >= threshold + @epoch.error || quicker?)
        note_probe(share, kept)
        kept ? probe_further(now, goodput, :down) : not_kept(share)
      end

      def not_kept(share)
        @latency.unqueued(@epoch.median) if share < (1 + @limit.to_f / @settled_limit) / 2
        @skipped_probes = SKIPPED_PROBES if share < threshold - 2 * doubt
        @retried = once_more?(share)
        @limit = @settled_limit
        cruise(@retried ? 1 : CRUISE_EPOCHS)
        @next = @retried ? :down : :up
      end

      # After a large step a smaller one is tried; with noise the same step again, since it may have failed by chance.
      def once_more?(share)
        return !@retried && share > threshold - doubt if noisy?

        @down < DOWN && (@settled_limit * DOWN).round > @limit
      end

      # A change of the limit cannot change goodput this much: the server changed between the two measurements.
      def discard_probe(share)
        @limit = @settled_limit
        shifted(share)
        @next = :up
      end

      # The next step in the same direction is larger, and compared with the last goodput; on the way down with the
      # highest, since many small losses add up.
      def probe_further(now, goodput, way)
        @settled_limit = @limit
        @skipped_probes = 0
        @settled_latency = @epoch.median
        if way == :up
          @base.become(@limit, @epoch)
          @up = UP_ON
          probe_up(now)
        else
          @base.become(@limit, @epoch) if goodput > @base.goodput
          @down = DOWN_ON
          probe_down
        end
      end

      # ---- measurements, ceiling and messages ----

      # Returns whether requests take less time at the tried limit. If not, none of them waited at the server before.
      def quicker? = @epoch.median <= @settled_latency * (1 + @limit.to_f / @settled_limit) / 2

      # Returns the standard error of the probe's goodput as a share of the baseline's.
      def doubt = Math.hypot(@epoch.error, @base.error)

      # Returns whether a probe of full length could not distinguish a small loss from none.
      def noisy?
        Math.hypot(@base.error, @epoch.error_of(@base.goodput * LONGEST[:probe_down])) > NOISY
      end

      def raise_ceiling(now, limit)
        @ceiling_met += 1 if @ceiling.nil? || now >= @ceiling_until
        @ceiling = limit
        @ceiling_until = now + (CEILING_SECONDS[@ceiling_met - 1] || CEILING_SECONDS.last)
      end

      def forget_ceiling
        @ceiling = nil
        @ceiling_met = 0
      end

      def ceiling(now)
        @ceiling && now < @ceiling_until ? @ceiling : @maximum
      end

      def note_probe(share, kept)
        @last_probe = "#{@settled_limit} to #{@limit}: goodput #{change(share)}, #{kept ? "kept" : "not kept"}"
        @why = @last_probe
      end

      def change(ratio)
        format("%+.0f %%", (ratio - 1) * 100)
      end

      def percent(share)
        "#{(share * 100).round} %"
      end
    end
  end
end
