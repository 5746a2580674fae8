# frozen_string_literal: true

require "json"
require_relative "../applications"
require_relative "../repeats"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # A page of a Rails application that makes 15 calls one after another: what Trunkline::Insight finds and
      # estimates, and the time after its advice has been followed.
      class Nplus1 < Command
        include Repeats

        summary "a Rails page with 15 calls: the time of a batch that Trunkline::Insight predicts, and the measured one"
        usage "[CALLS] [RUNS]"

        LABEL = "Rails"
        GEMS = { "railties" => ">= 7.1" }.freeze
        FOLDER = "nplus1"
        FILE = File.expand_path("../origins/orders_page.rb", __dir__)
        WAYS = { before: "one after another", predicted: "in a batch, predicted",
                 after: "in a batch, measured" }.freeze
        ALLOWED = 25 # maximum deviation of an estimate in per cent

        # @return [Hash] name => gems
        def self.bundles = { FOLDER => Applications::GEMS.merge(GEMS) }

        private

        def defaults
          @calls = 15
          @runs = 7
        end

        def options(parser)
          install_option(parser)
          time_option(parser)
        end

        # @raise [Stop]
        def arguments(rest)
          calls_and_runs(rest)
          raise Stop.new("fewer than 3 calls are not an N+1 problem", USAGE) if @calls < 3
        end

        def title = "A Rails page that makes #{@calls} calls to a second service (10 ms each), GETs of distinct URLs"

        def measure
          Target.open("slow", port: :plain) do |service|
            Applications.open(missing: @result.missing, screen: @screen) do |applications|
              applications.add(LABEL, gems: GEMS, folder: FOLDER, local_gems: ["trunkline"], file: FILE, threads: 1,
                                      app: "Trunkline::Lab::Origins::OrdersPage",
                                      base: service.base, path: service.path, calls: @calls)
              applications.ready { |_, page| sample(page) } # the first one opens the connections
              applications.members.each_value { |page| take(page) }
            end
          end
        end

        def take(page)
          rounds = rounds(@runs)
          @screen.progress("nplus1", @runs) do |advance|
            rounds.each do
              rounds.take(LABEL) { sample(page) }
              advance.call
            end
          end
        end

        # @return [Hash{Symbol => Float}] seconds, by the names of WAYS
        def sample(page)
          before = seconds_of(page, "/index")
          @found = ask(page, "/found")
          raise Stop, "Trunkline::Insight found nothing" unless @found[:estimate]

          { before: before, predicted: @found[:estimate], after: seconds_of(page, "/batch") }
        end

        def seconds_of(page, path)
          result = ask(page, path)
          return result[:seconds] if result[:good] == @calls

          raise Stop, "#{@calls - result[:good]} of #{@calls} calls failed"
        end

        def ask(page, path)
          result = page.ask(:probe, call: { path: path })
          raise Stop, "the application's status is #{result[:status]}: #{result[:body]}" unless result[:status] == 200

          JSON.parse(result[:body], symbolize_names: true)
        end

        def conclude
          taken = samples[LABEL] or return

          figures = WAYS.to_h { |key, way| [key, figure(way, taken.map { |one| one[key] * 1000 })] }
          show(figures)
          off = @result.figure(taken.map { |one| off(one) }, name: "the prediction is off by", unit: "%",
                                                             group: "prediction", label: LABEL, better: "lower")
          say(figures, off)
        end

        def figure(way, values)
          @result.figure(values, name: way, group: "calls of a page", label: way, unit: "ms", better: "lower",
                                 key: true)
        end

        def off(sample) = (sample[:predicted] - sample[:after]).abs / sample[:after] * 100

        def show(figures)
          slowest = figures[:before].value
          rows = figures.each_value.map do |one|
            [one.label, format("%.1f", one.value), one.interval.map { |edge| format("%.1f", edge) }.join(" to "),
             format("%.1fx", slowest / one.value)]
          end
          @result.table("The #{@calls} calls of one page", ["calls", "ms", "95 % interval", "times faster"], rows,
                        note: "Medians of #{counted(runs, "run")}, each with a separate prediction.")
          bars = figures.map { |way, one| { label: one.label, value: one.value.round(1), ours: way == :after } }
          @result.chart(:bars, "The #{@calls} calls of one page", unit: "ms", bars: bars)
        end

        def say(figures, off)
          @result.say("Found: #{@found[:text]}")
          @result.say("Advice: #{@found[:advice]}")
          verdict = off.value <= ALLOWED ? "within" : "not within"
          @result.say(format("Before %<before>.1f ms; predicted %<predicted>.1f ms; after %<after>.1f ms: the " \
                             "prediction is off by %<off>.0f %% (median), #{verdict} #{ALLOWED} %%.",
                             off: off.value, **figures.transform_values(&:value)))
        end
      end
    end
  end
end
