# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../support/squid"

module Bench
  module Figures
    # One GET of 133 bytes after the other through an HTTP proxy, compared with the bare libcurl program through the
    # same proxy.
    class ReachProxy
      BAR = 1.2

      def title = "GET through an HTTP proxy, distinct URLs"

      def call(suite)
        raise Limits::Failed, Squid.missing if Squid.missing

        Squid.open do |squid|
          Competitors.open(suite, Work.gets(Origin::SMALL, urls: "distinct")) do |competitors|
            competitors.add_first(Peers::TrunklineThroughProxy, proxy: squid.url)
            competitors.add_bare_curl(proxy: squid.url)
            pairs = Comparison.new(suite, title: title).call(competitors)
            add_time(suite, pairs.by_member.values.flatten)
          end
        end
      end

      private

      def add_time(suite, pairs)
        ratios = pairs.map { |pair| 1 / pair.times_faster }
        suite.add(Figure.of(ratios, name: "#{title}: time against the bare libcurl program's", unit: "x", bar: BAR,
                                    better: "lower"))
      end
    end
  end
end
