# frozen_string_literal: true

require_relative "../support/figure"
require_relative "../support/tools"
require "open3"
require "rbconfig"

module Bench
  module Figures
    # Small server-sent events and lines, which cost most per byte: how many are parsed per second of CPU, against
    # another parser, in pairs of processes that parse the same chunks.
    class StreamEvents
      COUNT = 1_000_000
      # Lines have no bar, since no peer reads the lines of a response.
      BARS = { %w[trunkline event_stream_parser] => ["events", 10.0], %w[each_line string_io] => ["lines", nil] }.freeze
      NAMES = { "string_io" => "StringIO, which has read them already" }.freeze
      WORK = File.expand_path("../support/stream_work.rb", __dir__)
      LIB = File.expand_path("../../trunkline/lib", __dir__)

      def title = "#{COUNT} small events and lines, no network"

      def call(suite)
        BARS.each do |(ours, theirs), (what, bar)|
          pairs = suite.repeat { [ours, theirs].shuffle.to_h { |who| [who, seconds(who)] } }
          suite.add(Figure.of(pairs.map { |pair| COUNT / pair[ours] }, unit: "/s",
                                                                       name: "#{what} in a second of CPU, no network"))
          suite.add(Figure.of(pairs.map { |pair| pair[theirs] / pair[ours] },
                              name: "#{what}, no network: speed against #{NAMES.fetch(theirs, theirs)}",
                              unit: "x", bar: bar))
        end
      end

      private

      def seconds(who)
        output, status = Open3.capture2e(RbConfig.ruby, "-I", LIB, WORK, who, COUNT.to_s)
        found, seconds = output.split
        raise Tools::Failed, "#{who}: #{output}" unless status.success? && found == COUNT.to_s

        Float(seconds)
      end
    end
  end
end
