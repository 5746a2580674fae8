# frozen_string_literal: true

require_relative "../call_kinds"
require_relative "../call_options"
require_relative "../histogram"
require_relative "../search"

module Trunkline
  module Lab
    module Commands
      # Finds the concurrency to use, and what limits it.
      class Best < Command
        include CallOptions
        include CallKinds

        summary "the smallest concurrency with 95 % of the best goodput, and what limits it"
        usage "URL|short|medium|slow|workers"

        MOST = 256
        LIMITERS = {
          refusal: "the server refuses more calls (429 or 503)",
          cpu: "this machine's CPU is the limit: the client uses a whole core",
          ceiling: "no higher concurrency was tried: the server may be able to handle more",
          server: "the server is the limit"
        }.freeze

        private

        def defaults
          start_call
          @timeout = 10.0
          @seconds = 0.5
          @repeats = 3
          @searches = {}
        end

        def options(parser)
          parser.on("-m", "--method METHOD", "GET, POST ... (GET)") { |text| @call[:verb] = verb(text) }
          parser.on("--max N", Integer, "the highest concurrency to try (#{MOST})") { |n| @most = positive(n, "--max") }
          parser.on("-z", "--duration SECONDS", Float, "of each sample (0.5)") { |s| @seconds = positive(s, "-z") }
          parser.on("--repeats N", Integer, "samples of each concurrency (3)") do |n|
            @repeats = positive(n, "--repeats")
          end
          kinds_option(parser)
          http_option(parser)
          call_options(parser)
        end

        def arguments(rest) = @place = one_place(rest)

        def title = "The best concurrency for #{call_titles}"

        def measure
          open_target(@place) do
            apply_limits
            check_call(first_call)
            with_competitors([Peer.named("trunkline")], **peer_options) do |competitors|
              member = competitors.members.first or raise PeerProcess::Failed, @result.missing.values.first
              kinds.each { |kind| search(member, kind) }
            end
          end
        end

        def search(member, kind)
          member.ask(:many, **task_arguments(kind, call), concurrency: 1, requests: 20)
          @searches[kind] = Search.new(most: @most) { |concurrency| samples(member, kind, concurrency) }
          @searches[kind].run
        end

        def apply_limits
          foreign = @target.foreign? && !@owner
          @most ||= foreign ? Target::MOST_IN_FLIGHT : MOST
          check_limits(in_flight: @most)
          # A search tries about a dozen concurrencies at most.
          @budget = foreign ? Target::MOST_REQUESTS / (@repeats * 12 * kinds.size) : nil
        end

        def samples(member, kind, concurrency)
          Array.new(@repeats) do
            @screen.busy("#{concurrency} in flight")
            summary(member.ask(:many, **task_arguments(kind, call), concurrency: concurrency, seconds: @seconds,
                                                                    requests: @budget))
          end
        end

        def summary(sample)
          statuses = sample[:statuses].transform_keys { |status| status.to_s.to_i }
          refused = statuses.values_at(429, 503).compact.sum
          good = statuses.sum { |status, count| status < 400 ? count : 0 }
          latency = Histogram.of(sample[:latency]).median / 1e6
          sample.slice(:requests, :wall, :cpu)
            .merge(good: good, refused: refused, failed: sample[:requests] - good - refused, latency: latency)
        end

        def conclude
          @searches.each { |kind, search| show(kind, search) unless search.points.empty? }
        end

        def show(kind, search)
          raise Stop, nothing_good(search) if search.best.goodput.zero?

          points = search.points.each_value.sort_by(&:concurrency)
          columns = ["in flight", "goodput/s", "95 % interval", "refused", "failed", "CPU", "median us"]
          rows = points.map { |point| row(kind, point, key: point.equal?(search.answer)) }
          @result.table(TITLES.fetch(kind), columns, rows, optional: ["median us", "95 % interval"])
          draw(kind, points)
          report_answer(kind, search)
        end

        def nothing_good(search)
          point = search.best
          "no call to #{@target.url} succeeded: #{percent(point.refused)} were refused (429 or 503), " \
            "#{percent(point.failed)} failed"
        end

        def row(kind, point, key:)
          name = "#{TITLES.fetch(kind)}, #{point.concurrency} in flight"
          figure = @result.figure(point.rates, name: "#{name}: goodput/s", unit: "goodput/s", group: name,
                                               label: "Trunkline", key: key)
          [point.concurrency, figure.value.round, figure.interval.map(&:round).join(" to "), percent(point.refused),
           percent(point.failed), percent(point.cpu), (point.latency * 1e6).round]
        end

        def draw(kind, points)
          drawn = points.map do |point|
            { x: point.concurrency, y: Result.short(point.goodput), dot: (point.cpu * 100).round }
          end
          series = [{ label: "Trunkline", ours: true, points: drawn }]
          @result.chart(:sweep, "goodput by concurrency, #{TITLES.fetch(kind)}", x: "in flight", y: "goodput/s",
                                                                                 dots: "CPU %", series: series)
        end

        # Programs read result.data, which has the answer for the first kind of calls.
        def report_answer(kind, search)
          found = { use: search.answer.concurrency, plateau: search.plateau, limiter: search.limiter,
                    little: search.little, goodput: Result.short(search.answer.goodput),
                    most_tried: search.points.keys.max }
          @result.data.merge!(found) if kind == kinds.first
          say(kind, found, search.refused_from)
        end

        def say(kind, found, refused)
          low, high = found[:plateau]
          others = low == high ? "" : " (#{low} to #{high} are as good)"
          @result.say("#{TITLES.fetch(kind)}:") if @searches.size > 1
          @result.say("Use #{found[:use]}#{others}; #{LIMITERS.fetch(found[:limiter])}.")
          @result.say("It refuses calls (429 or 503) from #{refused} in flight on.") if refused
          @result.say("By Little's law, the best goodput needs #{found[:little]} in flight when no request " \
                      "waits in a queue.")
        end

        def percent(share) = "#{(share * 100).round(1)} %"
      end
    end
  end
end
