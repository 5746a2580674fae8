# frozen_string_literal: true

require_relative "../call_kinds"
require_relative "../call_options"
require_relative "../histogram"
require_relative "../repeats"

module Trunkline
  module Lab
    module Commands
      # Finds the best concurrency: measures each concurrency several times, in random order; requests/s as a line, CPU
      # as dots.
      class Sweep < Command
        include CallOptions
        include CallKinds
        include Repeats

        summary "requests/s and CPU at each concurrency, by the selected clients"
        usage "[METHOD] URL|short|medium|slow|workers [REQUESTS] [REPEATS]"

        CONCURRENCIES = [1, 2, 3, 4, 5, 10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200].freeze
        POLITE = { requests: 50, repeats: 5 }.freeze
        WARM_UP = 50
        LIMIT_REPEATS = 3
        SIZE = /\A\d+\z/
        # Summary of each point of each client.
        COLUMNS = ["client", "in flight", "requests/s", "95 % interval", "goodput/s", "errors", "CPU %",
                   "CPU us/request", "p50 us", "p90 us", "p99 us", "opened", "RSS MB"].freeze
        OPTIONAL = ["p50 us", "CPU us/request", "95 % interval", "p90 us", "opened", "goodput/s", "RSS MB"].freeze

        private

        def defaults
          start_call
          @timeout = 10.0
          @peers = [Peer.named("trunkline")]
        end

        def options(parser)
          parser.on("-c", "--concurrency LIST", "such as 1,2,5..200 (a range takes the usual steps in it)") do |list|
            @concurrencies = steps(list)
          end
          parser.on("--article FILE", "write [{concurrency, requests_per_second, cpu_percentage}] as JSON") do |file|
            Output::Files.check([@article = file])
          end
          kinds_option(parser)
          peer_choice(parser)
          limit_choice(parser, Limits::BareCurl, Limits::Wrk)
          time_option(parser)
          call_options(parser)
        end

        def steps(list)
          steps = list.split(",").flat_map { |part| range(*part.split("..", 2).map { |text| Integer(text, 10) }) }
          raise ArgumentError if steps.empty?

          steps.uniq.sort.each { |step| positive(step, "-c") }
        rescue ArgumentError
          raise OptionParser::InvalidArgument, "-c #{list.inspect}: give numbers, such as 1,2,5..200"
        end

        def range(first, last = first)
          raise ArgumentError if last < first

          [first, *CONCURRENCIES.select { |step| step > first && step < last }, last]
        end

        def arguments(rest)
          @call[:verb] = verb(rest.shift) if method_first?(rest)
          @place = rest.shift or raise Stop.new("give a URL, or one of #{Target::BUILT_IN.keys.join(", ")}", USAGE)
          unless rest.size <= 2 && rest.all?(SIZE)
            raise Stop.new("#{rest.join(" ").inspect}: after the URL come REQUESTS and REPEATS, two numbers", USAGE)
          end

          @requests, @repeats = rest.map { |text| positive(text.to_i, "REQUESTS and REPEATS") }
        end

        # A word before another word that is not a number is a method, known or not; a single word is a URL unless it is
        # a known method.
        def method_first?(rest)
          word, second = rest
          return false if word.nil? || word.include?(":") || Target::BUILT_IN.key?(word)

          VERBS.include?(word.upcase) || !(second.nil? || SIZE.match?(second))
        end

        def title = "#{call_titles}: requests/s by number of requests in flight"

        def measure
          open_target(@place) do
            apply_limits
            check_call(first_call)
            with_competitors(checks: checks(call), limits: limits, **peer_options) { |competitors| take(competitors) }
          end
        end

        # The programs in C have no limits for other people's servers, and of custom calls they support only plain GETs.
        def limits
          @target.foreign? || !plain? || @insecure ? [] : @limits
        end

        # The defaults for a server of somebody else are lower; higher values need an option.
        def apply_limits
          careful = @target.foreign? && !@owner
          @concurrencies ||= careful ? CONCURRENCIES.select { |step| step <= Target::MOST_IN_FLIGHT } : CONCURRENCIES
          @requests ||= careful ? POLITE[:requests] : 500
          @repeats ||= careful ? POLITE[:repeats] : 10
          check_limits(in_flight: @concurrencies.max.to_i,
                       requests: @concurrencies.size * @requests * @repeats * @peers.size * kinds.size)
        end

        def take(competitors)
          warm_up(competitors)
          limits, clients = turns(competitors).partition { |member, *| Limits.row?(member.label) }
          rounds = rounds(@repeats)
          total = (clients.size * @repeats) + (limits.size * [LIMIT_REPEATS, @repeats].min)
          @screen.progress("sweep", total) do |advance|
            rounds.each do |number|
              (number < LIMIT_REPEATS ? clients + limits : clients).shuffle.each do |member, step, kind|
                competitors.each([member]) { rounds.take([member.label, step, kind]) { sample(member, step, kind) } }
                advance.call
              end
            end
          end
        end

        # @return [Array(Member, Integer, String)] client, number in flight, and kind of calls
        def turns(competitors)
          competitors.members.product(@concurrencies, kinds).select { |member, _, kind| member.makes?(kind) }
        end

        def warm_up(competitors)
          competitors.each do |member|
            arguments = task_arguments(kinds.find { |kind| member.makes?(kind) } || next, call)
            member.ask(:many, **arguments, concurrency: @concurrencies.max, requests: WARM_UP)
          end
        end

        def sample(member, step, kind)
          taken = nil
          opened = @target.connections do
            taken = member.ask(:many, **task_arguments(kind, call), concurrency: step, requests: [@requests, step].max)
          end
          taken.merge(accepted: opened || (taken[:opened] if member.trunkline?))
        end

        def conclude
          return if samples.empty?

          articles = kinds.map { |kind| show(kind) }
          @result.data.merge!(article: articles.first, target: @target.title)
          save_article(articles.first)
        end

        # @return [Hash{String => Array}] label => points
        def show(kind)
          kind_samples = samples.select { |(_, _, of), _| of == kind }.sort_by { |(label, step), _| [label, step] }
          rows = kind_samples.map { |key, taken| point(*key, taken) }
          @result.table(TITLES.fetch(kind), COLUMNS, rows.map { |row| row.values_at(*COLUMNS) }, optional: OPTIONAL)
          draw(kind, rows)
          articles = rows.group_by { |row| row["client"] }.transform_values { |of| of.map { |row| article(row) } }
          articles.each { |label, points| say_best(kind, label, points) }
        end

        def point(label, step, kind, taken)
          what = "#{TITLES.fetch(kind)}, #{step} in flight"
          client = !Limits.row?(label)
          rates = figure(taken, label, what, "requests/s", key: client) { |sample| sample[:requests] / sample[:wall] }
          goodput = figure(taken, label, what, "goodput/s") { |sample| good(sample) / sample[:wall] }
          { "client" => label, "in flight" => step, "requests/s" => rates.value.round, "rates" => rates,
            "95 % interval" => rates.interval.map(&:round).join(" to "), "goodput/s" => goodput.value.round,
            "errors" => taken.sum { |sample| sample[:requests] - good(sample) }, **cost(label, what, taken),
            **latencies(taken) }
        end

        def cost(label, what, taken)
          cpu = figure(taken, label, what, "CPU us/request", better: "lower") { |one| one[:cpu] / one[:requests] * 1e6 }
          share = Statistics.median(taken.map { |sample| sample[:cpu] / sample[:wall] * 100 })
          opened = taken.filter_map { |sample| sample[:accepted] }
          { "CPU %" => share.round, "CPU us/request" => cpu.value.round(1), "opened" => (opened.sum if opened.any?),
            "RSS MB" => taken.filter_map { |sample| sample[:rss_kb] }.max&.fdiv(1024)&.round }
        end

        def latencies(taken)
          latency = taken.map { |sample| Histogram.of(sample[:latency]) }.reduce(:merge)
          [50, 90, 99].to_h { |share| ["p#{share} us", (latency.percentile(share) if latency.size.positive?)] }
        end

        def figure(taken, label, what, unit, **rest, &block)
          @result.figure(taken.map(&block), name: "#{label}, #{what}: #{unit}", group: what, label: label, unit: unit,
                                            **rest)
        end

        def good(sample) = sample[:statuses].sum { |status, count| status.to_s.to_i < 400 ? count : 0 }

        def draw(kind, rows)
          series = rows.group_by { |row| row["client"] }.map do |label, client_rows|
            points = client_rows.map do |row|
              low, high = row["rates"].interval
              { x: row["in flight"], y: Result.short(row["rates"].value), low: Result.short(low),
                high: Result.short(high), dot: row["CPU %"] }
            end
            { label: label, ours: label == "Trunkline", points: points }
          end
          @result.chart(:sweep, "requests/s by concurrency, #{TITLES.fetch(kind)}, #{@target.title_of(kind)}",
                        x: "in flight", y: "requests/s", dots: "CPU %", series: series)
        end

        def article(row)
          { concurrency: row["in flight"], requests_per_second: row["requests/s"], cpu_percentage: row["CPU %"] }
        end

        def save_article(articles)
          return unless @article

          text = JSON.pretty_generate(articles.size == 1 ? articles.values.first : articles)
          Output::Files.save(@article, "#{text}\n")
        end

        def say_best(kind, label, points)
          best = points.max_by { |point| point[:requests_per_second] }
          enough = points.find { |point| point[:requests_per_second] >= best[:requests_per_second] * 0.95 }
          @result.say("#{label}, #{TITLES.fetch(kind)}: most requests/s with #{best[:concurrency]} in flight " \
                      "(#{best[:requests_per_second]}/s); #{enough[:concurrency]} reach 95 % of that.")
        end
      end
    end
  end
end
