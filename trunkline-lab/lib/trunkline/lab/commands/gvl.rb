# frozen_string_literal: true

require_relative "../call_kinds"
require_relative "../origins/scripted"
require_relative "../repeats"

module Trunkline
  module Lab
    module Commands
      # Calls next to threads that keep Ruby's lock (the GVL) busy: the duration of a call that each client reports, and
      # the true one by the server's clock.
      class Gvl < Command
        include CallKinds
        include Repeats

        summary "calls beside 0 to 8 busy Ruby threads: the response time that each client reports, and the actual one"
        usage "[CALLS] [RUNS]"
        timed false

        BUSY = [0, 1, 2, 4, 8].freeze
        SECONDS = 0.005 # seconds that the server takes
        LIMIT = 60      # seconds that a client may take for its calls
        CALL = { path: "/" }.freeze
        POST = { verb: "POST", path: "/", headers: JSON_FIELDS }.freeze
        COLUMNS = ["client", "busy", "call", "reported: response", "reported: GVL", "actual: response",
                   "actual: GVL"].freeze

        private

        def defaults
          @calls = 1 # with 1, a dozen clients take about two and a half minutes: each call waits for the busy threads
          @runs = 3
          @busy = BUSY
        end

        def options(parser)
          parser.on("--busy LIST", Array, "numbers of busy threads (#{BUSY.join(",")})") do |list|
            @busy = numbers(list)
          end
          kinds_option(parser)
          peer_choice(parser)
          time_option(parser)
        end

        def numbers(list)
          return list.map(&:to_i).uniq.sort if list.all?(/\A\d{1,2}\z/)

          raise OptionParser::InvalidArgument, "#{list.join(",")}: give numbers of threads, as in 0,2,8"
        end

        def arguments(rest) = calls_and_runs(rest)

        def title
          calls = kinds.map { |kind| TITLES.fetch(kind) }.join(" and ")
          "A server that takes #{(SECONDS * 1000).round} ms, called beside busy Ruby threads: #{calls}"
        end

        def kinds = @kinds ||= DEFAULT

        def task_arguments(kind) = { call: kind == "json" ? POST : CALL, kind: kind }

        # The clients are not pinned to one core, so that the engine can run in parallel with the busy threads.
        def measure
          Origins::Scripted.open(method(:respond)) do |server|
            checks = kinds.map { |kind| { **task_arguments(kind), digest: nil } }
            with_competitors(base: server.plain, core: nil, checks: checks) { |competitors| take(competitors) }
          end
        end

        # Each response is the monotonic clock, which all processes of a machine share; as a number it is also valid
        # JSON.
        def respond(connection)
          while connection.request
            sleep SECONDS
            connection.answer(format("%.9f", Clock.now))
          end
        end

        def take(competitors)
          rounds = rounds(@runs)
          turns = kinds.product(@busy)
          @screen.progress("gvl", @runs * turns.size) do |advance|
            rounds.each do
              turns.shuffle.each do |kind, busy|
                competitors.each(competitors.members.shuffle) do |member|
                  rounds.take([member.label, kind, busy]) { sample(member, kind, busy) }
                end
                advance.call
              end
            end
          end
        end

        def sample(member, kind, busy)
          member.ask(:beside_busy_threads, **task_arguments(kind), busy: busy, count: @calls, limit: LIMIT)
        end

        def conclude
          return if samples.empty?

          kinds.each { |kind| show(kind) }
          say_deviation
        end

        def show(kind)
          rows = labels.flat_map { |label| @busy.filter_map { |busy| row(label, kind, busy) } }
          return if rows.empty?

          @result.table(TITLES.fetch(kind), COLUMNS, rows, note: note)
          draw(kind, rows)
          rows.group_by(&:first).each { |label, client_rows| say(label, kind, client_rows.last) }
        end

        def note
          "Milliseconds, medians of #{counted(@calls, "call")} in each of #{counted(runs, "run")}. Reported: the " \
            "client's own timings; \"-\": it has none, and its caller can only time the whole call. Actual response: " \
            "until the server wrote the response (a client that waits for the GVL sends late). Actual GVL: from then " \
            "on until the caller continued."
        end

        def labels = peers.map(&:label) & samples.keys.map(&:first)

        def row(label, kind, busy)
          taken = samples[[label, kind, busy]]&.flatten or return
          times = [taken.map { |one| one[:wall] }, reported_seconds(taken, :total), reported_seconds(taken, :gvl),
                   taken.map { |one| one[:written] }, taken.map { |one| one[:waited] }]
          [label, busy, *COLUMNS.drop(2).zip(times).map { |what, values| cell(label, kind, busy, what, values) }]
        end

        def reported_seconds(taken, name) = taken.filter_map { |one| one[:reported][name] }

        # @return [String, nil]
        def cell(label, kind, busy, what, seconds)
          return if seconds.empty?

          calls = TITLES.fetch(kind)
          figure = @result.figure(seconds.map { |one| one * 1000 }, name: "#{label}, #{calls}, #{busy} busy: #{what}",
                                                                    unit: "ms", group: "#{calls}: #{what}",
                                                                    label: label, better: "lower")
          format("%.1f", figure.value)
        end

        # The time that a user would take for the server's.
        def reported(row) = (row[3] || row[2]).to_f

        def draw(kind, rows)
          series = rows.group_by(&:first).map do |label, client_rows|
            points = client_rows.map { |row| { x: row[1], y: reported(row) } }
            { label: label, ours: label == "Trunkline", points: points }
          end
          actual = rows.group_by { |row| row[1] }.map do |busy, busy_rows|
            { x: busy, y: Statistics.median(busy_rows.map { |row| row[5].to_f }) }
          end
          series << { label: "actual", ours: false, points: actual }
          @result.chart(:lines, "Response time that each client reports, #{TITLES.fetch(kind)}",
                        x: "busy threads", y: "ms", series: series)
        end

        def say(label, kind, row)
          gvl = ", and #{row[4]} ms of waiting for the GVL" if row[4]
          @result.say("#{label}, #{TITLES.fetch(kind)}, #{row[1]} busy threads: it reports #{reported(row)} " \
                      "ms#{gvl}; the server wrote the response after #{row[5]} ms.")
        end

        def say_deviation
          samples_with_gvl = samples.values.flatten.select { |one| one[:reported][:gvl] }
          return if samples_with_gvl.empty?

          deviations = samples_with_gvl.map { |one| (one[:waited] - one[:reported][:gvl]).abs * 1000 }
          figure = @result.figure(deviations, name: "timings.gvl: deviation from the actual wait", unit: "ms",
                                              group: "timings.gvl", label: "Trunkline", better: "lower")
          within = deviations.count { |one| one <= 1.0 } * 100.0 / deviations.size
          @result.say(format("timings.gvl deviates from the actual wait by %<off>.2f ms (median), and by less than " \
                             "1 ms in %<within>.0f %% of %<calls>d calls.", off: figure.value, within: within,
                                                                            calls: deviations.size))
        end
      end
    end
  end
end
