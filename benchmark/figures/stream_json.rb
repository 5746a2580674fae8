# frozen_string_literal: true

require "json"
require_relative "../support/figure"
require_relative "../support/json_origin"

module Bench
  module Figures
    # Bodies of JSON read value by value, against JSON.parse of the whole and of each line; and the memory that a
    # gigabyte takes. Each reading is a process of its own, in pairs.
    class StreamJSON
      BAR = 1.0
      MOST_MEGABYTES = 50
      MEBIBYTE = 1024 * 1024
      READER = File.expand_path("../support/json_reader.rb", __dir__)

      def title = "JSON as it comes"

      def call(suite)
        JSONOrigin.run do |url|
          compare(suite, "an array of 64 MB: each_json against JSON.parse of the whole", url, "each_json", "json")
          compare(suite, "64 MB of lines: each_json against JSON.parse of each", url, "each_json_lines", "json_lines")
          compare(suite, "a member of each object in 64 MB: each_json of its path against JSON.parse of the whole", url,
                  "each_json_path", "json")
          grown = read("each_json", "#{url}/array?bytes=#{1024 * MEBIBYTE}", 300).fetch("grown")
          suite.add(Figure.new(name: "growth of memory over an array of 1 GB", unit: "MB", value: grown.fdiv(MEBIBYTE),
                               bar: MOST_MEGABYTES, better: "lower", samples: 1))
        end
      end

      private

      def compare(suite, name, url, ours, theirs)
        ratios = suite.repeat do
          seconds = [ours, theirs].shuffle.to_h { |way| [way, read(way, "#{url}#{path(way)}", 60).fetch("seconds")] }
          seconds[theirs] / seconds[ours]
        end
        suite.add(Figure.of(ratios, name: name, unit: "x", bar: BAR))
      end

      def path(way) = "/#{way.end_with?("lines") ? "lines" : "array"}?bytes=#{64 * MEBIBYTE}"

      def read(way, url, limit)
        output, status = Trunkline::Lab::Processes.run(RbConfig.ruby, READER, way, url, limit: limit)
        raise Tools::Failed, output unless status.success?

        JSON.parse(output.lines.last)
      end
    end
  end
end
