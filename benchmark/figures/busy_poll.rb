# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # A call with the option busy_poll: against the same call without it, to a server on the same machine.
    class BusyPoll
      ASLEEP = "Trunkline asleep"

      def title = "GET of #{Origin.describe(Origin::SMALL)}, distinct URLs, one at a time, with busy_poll"

      def call(suite)
        Competitors.open(suite, Work.gets(Origin::SMALL, urls: "distinct")) do |competitors|
          competitors.add_first(Peers::Trunkline, busy_poll: true)
          competitors.add(Peers::Trunkline, label: ASLEEP)
          Comparison.new(suite, title: title, cpu_bars: { ASLEEP => nil }).call(competitors)
        end
      end
    end
  end
end
