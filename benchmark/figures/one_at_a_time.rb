# frozen_string_literal: true

module Bench
  module Figures
    # One GET of 133 bytes after the other over one kept connection: requests/s of ours beside each other client's.
    class OneAtATime
      FASTER_TYPHOEUS = "Typhoeus, the faster pair"
      BARS = {
        plain: { "bare libcurl program" => [1.2, 1.6], "wrk" => [0.7, 0.9], "Net::HTTP, started" => [3, 5],
                 FASTER_TYPHOEUS => [9, 15], "wreq" => [2.2, 4] },
        tls: { "bare libcurl program" => [1.4, 2] }
      }.freeze

      def initialize(scheme) = @scheme = scheme

      def title = "GET, kept alive#{" over TLS" if tls?}"

      def call(suite)
        base = suite.origin.public_send(@scheme)
        trust = suite.origin.certificates.ca_file if tls?
        Cast.open(base, ca_file: trust, missing: suite.missing, versions: suite.versions) do |cast|
          ours = assemble(cast, suite)
          pairs = Pairs.new(cast, ours: ours, repeats: suite.settings.repeats, seconds: suite.settings.seconds)
          report_ratios(pairs, suite)
          cast.members.each { |member| report_cost(member, pairs, suite) }
        end
      end

      private

      def tls? = @scheme == :tls

      def assemble(cast, suite)
        cast.add(Peers::Trunkline)
        ours = cast.members.first or raise PeerProcess::Failed, suite.missing["Trunkline"]
        cast.add_bare_curl
        cast.add_wrk
        (suite.peers - [Peers::Trunkline]).each { |peer| add_peer(cast, peer) }
        ours
      end

      # Net::HTTP is the one that people use both ways.
      def add_peer(cast, peer)
        return cast.add(peer) unless peer == Peers::NetHTTP

        cast.add(peer, label: "Net::HTTP, started")
        cast.add(peer, label: "Net::HTTP, fresh", keep: false)
      end

      def report_ratios(pairs, suite)
        ratios = pairs.by_member.to_h { |member, taken| [member.label, taken.map(&:times_faster)] }
        ratios.each { |label, samples| add(suite, samples, label, "times faster than", "x", **bar_for(label)) }
        pairs_of_typhoeus = ratios.select { |label, _| label.start_with?("Typhoeus") }.values
        return if pairs_of_typhoeus.empty?

        faster = pairs_of_typhoeus.min_by { |samples| Statistics.median(samples) }
        add(suite, faster, FASTER_TYPHOEUS, "times faster than", "x", **bar_for(FASTER_TYPHOEUS))
      end

      def bar_for(label) = %i[bar reach].zip(BARS.fetch(@scheme)[label].to_a).to_h

      def report_cost(member, pairs, suite)
        samples = pairs.samples_of(member)
        rates = samples.map { |sample| sample[:requests] / sample[:wall] }
        cpu = samples.map { |sample| sample[:cpu] / sample[:requests] * 1e6 }
        add(suite, rates, member.label, "requests/s of", "requests/s")
        add(suite, cpu, member.label, "CPU of", "us/request", better: "lower")
      end

      def add(suite, samples, client, what, unit, **rest)
        name = "#{title}: #{what} #{client}"
        suite.add(Figure.of(samples, name: name, unit: unit, group: title, client: client, **rest))
      end
    end
  end
end
