# frozen_string_literal: true

require_relative "../origins/scripted"
require_relative "../repeats"

module Trunkline
  module Lab
    module Commands
      # Calls next to threads that keep Ruby's lock (the GVL) busy: the duration of a call that each client reports, and
      # the true one by the server's clock.
      class Gvl < Command
        include Repeats

        summary "calls beside 0 to 8 busy Ruby threads: what each client tells of a server's time, and what was true"
        usage "[CALLS] [RUNS]"
        timed false

        BUSY = (0..8).to_a.freeze
        SECONDS = 0.005 # seconds that the server takes
        LIMIT = 60      # seconds that a client may take for its calls
        CALL = { path: "/" }.freeze
        COLUMNS = ["client", "busy", "call", "told: answer", "told: lock", "true: answer", "true: lock"].freeze

        private

        def defaults
          @calls = 1 # with 1, a dozen clients take three and a half minutes: each call waits for the busy threads
          @runs = 3
          @busy = BUSY
        end

        def options(parser)
          parser.on("--busy LIST", Array, "numbers of busy threads (0 to 8)") { |list| @busy = numbers(list) }
          peer_choice(parser)
          time_option(parser)
        end

        def numbers(list)
          return list.map(&:to_i).uniq.sort if list.all?(/\A\d{1,2}\z/)

          raise OptionParser::InvalidArgument, "#{list.join(",")}: give numbers of threads, as in 0,2,8"
        end

        def arguments(rest) = calls_and_runs(rest)

        def title = "A server that takes #{(SECONDS * 1000).round} ms, called beside busy Ruby threads"

        # The clients are not pinned to one core, so that the engine can run in parallel with the busy threads.
        def measure
          Origins::Scripted.open(method(:answer)) do |server|
            with_competitors(base: server.plain, core: nil, checks: [{ call: CALL, digest: nil }]) do |competitors|
              take(competitors)
            end
          end
        end

        # Answers with the monotonic clock, which all processes of a machine share.
        def answer(connection)
          while connection.request
            sleep SECONDS
            connection.answer(format("%.9f", Clock.now))
          end
        end

        def take(competitors)
          rounds = rounds(@runs)
          @screen.progress("gvl", @runs * @busy.size) do |advance|
            rounds.each do
              @busy.shuffle.each do |busy|
                competitors.each(competitors.members.shuffle) do |member|
                  rounds.take([member.label, busy]) { sample(member, busy) }
                end
                advance.call
              end
            end
          end
        end

        def sample(member, busy)
          member.ask(:beside_busy_threads, call: CALL, busy: busy, count: @calls, limit: LIMIT)
        end

        def conclude
          return if samples.empty?

          rows = labels.flat_map { |label| @busy.filter_map { |busy| row(label, busy) } }
          @result.table(nil, COLUMNS, rows, note: note)
          draw(rows)
          labels.each { |label| say(label, rows) }
          say_how_exact
        end

        def note
          "Milliseconds, medians of #{counted(@calls, "call")} in each of #{counted(runs, "run")}. Told: by the " \
            "client itself; where that is nothing, the whole call is all that can be taken. True: until the server " \
            "wrote the answer (a client that waits for the lock sends late), and from then on until the caller went on."
        end

        def labels = peers.map(&:label) & samples.keys.map(&:first)

        def row(label, busy)
          taken = samples[[label, busy]]&.flatten or return
          times = [taken.map { |one| one[:wall] }, reported_seconds(taken, :total), reported_seconds(taken, :gvl),
                   taken.map { |one| one[:answer] }, taken.map { |one| one[:waited] }]
          [label, busy, *COLUMNS.drop(2).zip(times).map { |what, values| cell(label, busy, what, values) }]
        end

        def reported_seconds(taken, name) = taken.filter_map { |one| one[:told][name] }

        # @return [String, nil]
        def cell(label, busy, what, seconds)
          return if seconds.empty?

          figure = @result.figure(seconds.map { |one| one * 1000 }, name: "#{label}, #{busy} busy: #{what}", unit: "ms",
                                                                    group: what, label: label, better: "lower")
          format("%.1f", figure.value)
        end

        # The time that a user would read as the server's.
        def reported(row) = (row[3] || row[2]).to_f

        def draw(rows)
          series = rows.group_by(&:first).map do |label, client_rows|
            points = client_rows.map { |row| { x: row[1], y: reported(row) } }
            { label: label, ours: label == "Trunkline", points: points }
          end
          truth = rows.group_by { |row| row[1] }.map do |busy, busy_rows|
            { x: busy, y: Statistics.median(busy_rows.map { |row| row[5].to_f }) }
          end
          series << { label: "true", ours: false, points: truth }
          @result.chart(:lines, "What the answer took, as each client tells", x: "busy threads", y: "ms",
                                                                              series: series)
        end

        def say(label, rows)
          last = rows.select { |row| row.first == label }.last
          lock = ", and #{last[4]} ms for Ruby's lock" if last[4]
          @result.say("#{label}, #{last[1]} busy threads: tells #{reported(last)} ms#{lock}; the answer was written " \
                      "after #{last[5]} ms.")
        end

        def say_how_exact
          samples_with_gvl = samples.values.flatten.select { |one| one[:told][:gvl] }
          return if samples_with_gvl.empty?

          deviations = samples_with_gvl.map { |one| (one[:waited] - one[:told][:gvl]).abs * 1000 }
          figure = @result.figure(deviations, name: "timings.gvl: off the truth by", group: "timings.gvl", unit: "ms",
                                              label: "Trunkline", better: "lower")
          within = deviations.count { |one| one <= 1.0 } * 100.0 / deviations.size
          @result.say(format("timings.gvl is off the truth by %<off>.2f ms (median), and by less than 1 ms in " \
                             "%<within>.0f %% of %<calls>d calls.", off: figure.value, within: within,
                                                                    calls: deviations.size))
        end
      end
    end
  end
end
