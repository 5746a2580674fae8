# frozen_string_literal: true

require_relative "../call_kinds"
require_relative "../call_options"
require_relative "../histogram"
require_relative "../output/ab_report"
require_relative "../threshold"

module Trunkline
  module Lab
    # Contains a class for each command of the command line.
    module Commands
      # One run against one URL, with ApacheBench's report in microseconds.
      class Load < Command
        include CallOptions
        include CallKinds

        summary "one run with a fixed number in flight, or at a fixed rate; ApacheBench's report in microseconds"
        usage "[-n REQUESTS | -z SECONDS] [-c N] [-q RATE] URL|short|medium|slow|workers"

        CPU_BAR = 0.9 # of a core
        SHARES = [50, 90, 99, 99.9].freeze

        private

        def defaults
          start_call
          @timeout = 10.0
          @concurrency = 1
          @thresholds = []
        end

        def options(parser)
          parser.on("-n", "--requests N", Integer, "number of requests (1000)") { |n| @requests = positive(n, "-n") }
          parser.on("-c", "--concurrency N", Integer, "in flight (1)") { |n| @concurrency = positive(n, "-c") }
          parser.on("-z", "--duration SECONDS", Float, "duration, instead of a number of requests") do |s|
            @seconds = positive(s, "-z")
          end
          parser.on("-q", "--rate N", Float, "requests a second in total; latency is then also measured from the time",
                    "when each request should have started") { |n| @rate = positive(n, "-q") }
          parser.on("-m", "--method METHOD", "GET, POST ... (GET)") { |text| @call[:verb] = verb(text) }
          parser.on("-k", "--[no-]keepalive", "keep connections (yes)") { |keep| @keep = keep }
          parser.on("--fail-if LIMIT", "exit with #{CROSSED} beyond it, such as \"p99>50ms\"; any number; of",
                    Threshold::HELP) { |text| @thresholds << Threshold.new(text) }
          kind_option(parser)
          http_option(parser)
          call_options(parser)
        end

        def arguments(rest)
          @place = one_place(rest)
          @requests ||= 1000 unless @seconds
        end

        def title = "#{call_title}: #{@concurrency} in flight"

        def measure
          open_target(@place) do
            apply_limits
            @response = check_call(first_call)
            peer = Peer.named("trunkline")
            headers = call[:headers].merge(@keep == false ? { "Connection" => "close" } : {})
            PeerProcess.open(peer, **peer_options) do |process|
              @screen.busy("#{@concurrency} in flight")
              @sample = sample(process, call.merge(headers: headers))
            end
          end
        end

        # After Ctrl-C, returns the results up to then.
        def sample(process, call)
          process.ask(:many, **task_arguments(kind, call), concurrency: @concurrency, requests: @requests,
                                                           seconds: @seconds, rate: @rate, timings: true, limit: limit)
        rescue Interrupt
          @result.interrupted = true
          process.interrupt_task(@timeout + 1)
        end

        def apply_limits
          check_limits(in_flight: @concurrency, requests: @requests || 0, rate: @rate || 0)
          return if @owner || !@target.foreign?

          @rate = Target::MOST_A_SECOND if @rate.nil?
          @requests = Target::MOST_REQUESTS if @requests.nil?
        end

        # Seconds after which the worker is considered to be stuck: more than all timeouts together.
        def limit
          (@seconds || (@requests * @timeout / @concurrency)) + (@rate ? @requests.to_i / @rate : 0) + @timeout + 10
        end

        def conclude
          return unless @sample

          report = Output::AbReport.new(target: @target, response: @response, sample: @sample,
                                        concurrency: @concurrency, rate: @rate,
                                        path: task_arguments(kind, call)[:call][:path])
          figures
          @result.data.merge!(report: report.to_s, latency: @sample[:latency], corrected: @sample[:corrected],
                              statuses: @sample[:statuses], errors: @sample[:errors])
          @result.say(report.to_s)
          @result.say("Measured with #{TITLES.fetch(kind)}.")
          verdicts
          @crossed = crossed.each { |sentence| @result.say(sentence) }
        end

        # The samples are the intervals of the run; a run that is too short for two intervals is a single sample.
        def figures
          intervals = @sample[:intervals].size < 2 ? [@sample] : @sample[:intervals]
          @result.figure(intervals.map { |one| one[:requests] / one[:wall] }, name: "requests/s", unit: "requests/s")
          return unless @sample[:requests].positive?

          @result.figure(intervals.map { |one| one[:cpu] / one[:requests] * 1e6 }, name: "CPU per request", unit: "us",
                                                                                   better: "lower")
          latencies(intervals.map { |one| one[:latency] }.reject(&:empty?).map { |counts| Histogram.of(counts) })
        end

        def latencies(intervals)
          return if intervals.empty?

          SHARES.each do |share|
            @result.figure(intervals.map { |latency| latency.percentile(share) }, name: "latency, #{share} %",
                                                                                  unit: "us", better: "lower")
          end
        end

        def verdicts
          share = @sample[:cpu] / @sample[:wall]
          if share > CPU_BAR
            @result.say("The client is the limit, not the server: it took #{(share * 100).round} % of a core.")
          end
          return if failed.empty?

          failures = failed.map { |name, count| "#{count} #{name}" }.join(", ")
          @result.say("#{failed.each_value.sum} of #{@sample[:requests]} calls failed: #{failures}.")
        end

        # @return [Array<String>]
        def crossed
          run = { latency: Histogram.of(@sample[:latency]), errors: failed.each_value.sum,
                  **@sample.slice(:requests, :wall, :cpu) }
          @thresholds.filter_map { |threshold| threshold.crossed(run) }
        end

        # @return [Hash{String => Integer}] number of failed calls by error or by status
        def failed
          erred = @sample[:statuses].select { |status, _| status.to_s.to_i >= 400 }
          @sample[:errors].merge(erred.transform_keys { |status| "with status #{status}" })
        end

        # If the user has set a limit for errors, only this limit decides whether there were too many.
        def status
          return STOPPED if @result.interrupted
          return CROSSED if @crossed&.any?
          return FAILED if @sample && failed.any? && @thresholds.none?(&:errors?)

          super
        end
      end
    end
  end
end
