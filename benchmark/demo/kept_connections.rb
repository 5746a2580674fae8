# frozen_string_literal: true

module Bench
  module Demo
    # 15 HTTPS calls to one host, one after the other: over a kept connection, and with a new client for each.
    class KeptConnections
      CALLS = 15
      RUNS = 15
      COLUMNS = %w[opened user system total real].freeze

      attr_reader :rows

      def initialize(origin)
        @origin = origin
        @rows = []
      end

      def title = "#{CALLS} HTTPS calls to one host, one after the other"

      def explanation
        "Milliseconds over loopback: the CPU's as means of #{RUNS} runs, the real time of the quickest. First with " \
          "connections kept, then with a new client for each call; opened: connections that the server saw."
      end

      def headings
        ["client", *COLUMNS.map { |name| "kept: #{name}" }, *COLUMNS.map { |name| "new: #{name}" }, "times faster"]
      end

      def take(peer)
        kept = runs(peer, keep: true)
        anew = runs(peer, keep: false)
        rows << [peer.label, *cells(kept), *cells(anew), format("%.1fx", anew[:wall] / kept[:wall])]
        rows.sort_by! { |row| row[COLUMNS.size].to_f }
      end

      private

      def runs(peer, keep:)
        process = PeerProcess.new(peer, base: @origin.tls, ca_file: @origin.certificates.ca_file, keep: keep)
        run(process) # loads the client's code
        summary(Array.new(RUNS) { run(process) })
      ensure
        process&.stop
      end

      def run(process)
        sample = nil
        connections = @origin.connections { sample = process.ask(:calls_anew, path: Origin::SMALL, count: CALLS) }
        sample.slice(:user, :sys, :wall).merge(connections: connections)
      end

      # The kernel tells user from system time only roughly, so that single runs say little.
      def summary(samples)
        mean = ->(name) { samples.sum { |sample| sample[name] } / RUNS }
        quickest = samples.min_by { |sample| sample[:wall] }
        quickest.merge(user: mean.call(:user), sys: mean.call(:sys))
      end

      def cells(sample)
        total = sample[:user] + sample[:sys]
        [sample[:connections].to_s, *[sample[:user], sample[:sys], total, sample[:wall]].map do |time|
          format("%.2f", time * 1000)
        end]
      end
    end
  end
end
