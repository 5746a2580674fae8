# frozen_string_literal: true

require_relative "../origins/scripted"
require_relative "../repeats"

module Trunkline
  module Lab
    module Commands
      # Server-sent events at a constant rate, as a model sends tokens: the delay until each reaches the block that
      # reads them.
      class Tokens < Command
        include Repeats

        summary "tokens of a stream, alone and beside others: the delay until each reaches the reader, by every client"
        usage "[TOKENS] [RUNS]"
        timed false

        STREAMS = [1, 20].freeze
        PACE = 0.005 # seconds between two tokens
        LIMIT = 60   # seconds that a client may take
        CALL = { path: "/", headers: { "Accept" => "text/event-stream" } }.freeze
        COLUMNS = ["client", "streams", "tokens/s", "first", "median", "99th", "longest"].freeze
        HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        private_constant :HEAD

        private

        def defaults
          @calls = 200
          @runs = 3
          @streams = STREAMS
          @cannot = []
        end

        def options(parser)
          parser.on("--streams LIST", Array, "numbers of concurrent streams (1,20)") { |list| @streams = numbers(list) }
          peer_choice(parser)
          time_option(parser)
        end

        def numbers(list)
          return list.map(&:to_i).uniq.sort if list.all?(/\A[1-9]\d{0,2}\z/)

          raise OptionParser::InvalidArgument, "#{list.join(",")}: give numbers of streams, as in 1,20"
        end

        def arguments(rest) = calls_and_runs(rest)

        def title = "Streams of #{@calls} tokens, one each #{(PACE * 1000).round} ms: GETs of a repeated URL"

        def measure
          Origins::Scripted.open(method(:respond)) do |server|
            with_competitors(base: server.plain, core: nil) { |competitors| take(competitors) }
          end
        end

        # Sends the monotonic clock, which all processes of a machine share.
        def respond(connection)
          while connection.request
            connection.write(HEAD)
            started = Clock.now
            @calls.times do |number|
              wait = started + (number * PACE) - Clock.now
              sleep wait if wait.positive?
              connection.write(chunk(format("data: %.9f\n\n", Clock.now)))
            end
            connection.write(chunk(""))
          end
        end

        def chunk(bytes) = "#{bytes.bytesize.to_s(16)}\r\n#{bytes}\r\n"

        def take(competitors)
          rounds = rounds(@runs)
          @screen.progress("tokens", @runs * @streams.size) do |advance|
            rounds.each do
              @streams.each do |streams|
                competitors.each(competitors.members.shuffle) do |member|
                  rounds.take([member.label, streams]) { sample(member, streams) }
                end
                advance.call
              end
            end
          end
        end

        def sample(member, streams)
          sample = member.ask(:tokens, call: CALL, streams: streams, limit: LIMIT)
          return sample unless sample[:cannot]

          @cannot |= [member.label]
          nil
        end

        def conclude
          taken = samples.transform_values(&:compact).reject { |_, runs| runs.empty? }
          rows = (peers.map(&:label) & taken.keys.map(&:first)).flat_map do |label|
            @streams.filter_map { |streams| row(label, streams, taken[[label, streams]]) }
          end
          return if rows.empty?

          @result.table(nil, COLUMNS, rows, note: note)
          draw(rows)
          @cannot.each { |label| @result.say("#{label}: it returns a body only when it is complete.") }
        end

        def note
          "Delays in milliseconds between the server's write of a token and the call of the reader's block; medians " \
            "of #{counted(runs, "run")}. Threads read the concurrent streams, each with a separate client."
        end

        def row(label, streams, taken)
          return if taken.nil?

          rate = figure(taken.map do |one|
            one[:delays].size / one[:seconds]
          end, label, streams, "tokens/s", "1/s", "higher")
          delays = taken.map { |one| one[:delays] }
          times = { "first" => delays.map(&:first), "median" => delays.map { |all| percentile(all, 50) },
                    "99th" => delays.map { |all| percentile(all, 99) }, "longest" => delays.map(&:max) }
          [label, streams, rate.round, *times.map do |what, seconds|
            format("%.2f", figure(seconds.map { |one| one * 1000 }, label, streams, what, "ms", "lower"))
          end]
        end

        def figure(values, label, streams, what, unit, better)
          @result.figure(values, name: "#{label}, #{streams} streams: #{what}", unit: unit, group: what, label: label,
                                 better: better).value
        end

        def percentile(values, percent)
          values.sort[((values.size - 1) * percent / 100.0).round]
        end

        def draw(rows)
          @streams.each do |streams|
            bars = rows.select { |row| row[1] == streams }.map do |row|
              { label: row.first, value: row[5].to_f, ours: row.first == "Trunkline" }
            end
            @result.chart(:bars, "Delay of 99 of 100 tokens, #{streams} concurrent streams", unit: "ms", bars: bars)
          end
        end
      end
    end
  end
end
