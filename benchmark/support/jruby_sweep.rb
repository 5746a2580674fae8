# frozen_string_literal: true

require "trunkline/lab"
require "trunkline/lab/commands/sweep"
require_relative "jruby_runtime"
require_relative "../peers/jruby/manticore"
require_relative "../peers/jruby/net_http_on_jruby"
require_relative "../peers/jruby/trunkline_on_jruby"
require_relative "../peers/engines/trunkline_ruby"

module Bench
  # The lab's sweep over clients on MRI and on JRuby.
  class JRubySweep < Trunkline::Lab::Commands::Sweep
    ON_JRUBY = [Peers::TrunklineOnJRuby, Peers::Manticore, Peers::NetHTTPOnJRuby].freeze
    MRI = [Trunkline::Lab::Peer.named("trunkline"), Peers::TrunklineRuby,
           Trunkline::Lab::Peer.named("net_http")].freeze
    # Name of the result => the lab's server, and the share of each point's calls that are made to that server.
    SERVERS = { "jruby" => ["short", 1.0], "jruby-workers" => ["workers", 0.04] }.freeze
    CONCURRENCIES = [1, 5, 20, 50, 100, 200].freeze
    # Java's compiler compiles frequently called code in the background, on the core that it shares with the client, and
    # again when its assumptions no longer hold, as when the number in flight changes. So each client is warmed up in
    # turns of [number in flight, seconds]. One turn is enough for "workers", where the server limits the clients.
    WARM_UP = (CONCURRENCIES * 4).map { |step| [step, 8] }.freeze
    WARM_UP_OF_WORKERS = [[50, 45]].freeze
    # How many times faster than the fastest of its peers on JRuby Trunkline must be, with the same number in flight.
    BAR = 2.0

    ON_JRUBY.each { |peer| peer.extend(OnJRuby) }

    class << self
      def name = "sweep"

      # @param folder [String] for the results; the page with the chart is in the lab's cache
      # @param more [Array<String>] further options of the lab's sweep
      # @return [Integer] exit status
      def all(folder, requests, repeats, more)
        JRUBY.build
        SERVERS.map do |name, (server, share)|
          files = { "json" => "#{folder}/#{name}.json", "markdown" => "#{folder}/#{name}.md",
                    "html" => "#{Cache.directory("quick")}/#{name}.html" }
          new.run([server, (requests * share).ceil.to_s, repeats.to_s, "-c", CONCURRENCIES.join(","), "--no-limits",
                   "--calls", "distinct", "--accept-noise", *more,
                   *files.flat_map { |kind, file| ["--#{kind}", file] }])
        end.max
      end
    end

    private

    def defaults
      super
      @peers = known_peers
      @below = []
    end

    def known_peers = MRI + ON_JRUBY

    # The bar applies only to the server that does not limit the clients.
    def status = @below.any? && @place == "short" ? Trunkline::Lab::FAILED : super

    def take(competitors)
      competitors.each { |member| ON_JRUBY.include?(member.peer) && compile(member) }
      super
    end

    # Makes the same tasks as are measured: another branch of a task would make Java discard compiled code.
    def compile(member)
      turns_of_warm_up.each do |step, seconds|
        finish = Trunkline::Lab::Clock.now + seconds
        sample(member, step, kinds.first) until Trunkline::Lab::Clock.now > finish
      end
    end

    def turns_of_warm_up = @place == "short" ? WARM_UP : WARM_UP_OF_WORKERS

    def conclude
      super
      numbers = turns_of_warm_up.map(&:first).uniq
      @result.say("Each client on JRuby was warmed up for the same time, #{turns_of_warm_up.sum(&:last)} s, in turns " \
                  "with #{numbers.join(", ")} in flight.")
      compare(samples.select { |(_, _, kind), _| kind == kinds.first })
    end

    # Reports one sentence for each number in flight.
    def compare(taken)
      own, *others = ON_JRUBY.map(&:label)
      taken.keys.map { |key| key[1] }.uniq.sort.each do |step|
        rates = [own, *others].to_h { |label| [label, rate(taken[[label, step, kinds.first]])] }.compact
        fastest = rates.except(own).max_by(&:last)
        next unless fastest && rates[own]

        ratio = rates[own] / fastest.last
        @below << step if ratio < BAR
        @result.say(format("%<own>s, %<step>d in flight: %<ratio>.2f times %<label>s (the bar is %<bar>.1f)",
                           own: own, step: step, ratio: ratio, label: fastest.first, bar: BAR))
      end
    end

    # Refused calls are not counted: a server refuses fast.
    def rate(taken)
      taken && Trunkline::Lab::Statistics.median(taken.map { |sample| good(sample) / sample[:wall] })
    end
  end
end
