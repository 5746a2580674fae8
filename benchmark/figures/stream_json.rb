# frozen_string_literal: true

require "json"
require_relative "../support/figure"
require_relative "../support/json_origin"

module Bench
  module Figures
    # The CPU of reading JSON bodies value by value, against JSON.parse of the whole body and of each line; and the
    # memory that a gigabyte takes. Each sample is a separate process; the processes run in pairs.
    class StreamJSON
      BAR = 1.0
      MOST_MEGABYTES = 50
      MEBIBYTE = 1024 * 1024
      KINDS = {
        "objects" => "objects", "integers" => "integers", "floats" => "floats", "literals" => "true, false and null",
        "pairs" => "pairs of coordinates", "short_strings" => "short strings",
        "escaped_strings" => "short strings with escapes", "long_strings" => "strings of 20 KB",
        "messages" => "objects with a text of 2 KB"
      }.freeze
      READER = File.expand_path("../support/json_reader.rb", __dir__)

      def title = "JSON parsed as it arrives"

      def call(suite)
        JSONOrigin.run do |url|
          KINDS.each do |kind, words|
            compare(suite, "64 MB, an array of #{words}, one transfer: each_json against JSON.parse of the whole",
                    "#{url}/array/#{kind}", "each_json", "json")
          end
          compare(suite, "64 MB of lines, one transfer: each_json against JSON.parse of each",
                  "#{url}/lines/objects", "each_json", "json_lines")
          compare(suite, "a member of each object in 64 MB, one transfer: each_json of its path against JSON.parse " \
                         "of the whole", "#{url}/array/objects", "each_json_path", "json")
          memory(suite, "growth of memory over an array of 1 GB, one transfer", "#{url}/array/objects")
          memory(suite, "growth of memory over an array of 1 GB, strings of 20 KB, one transfer",
                 "#{url}/array/long_strings")
        end
      end

      private

      def compare(suite, name, url, ours, theirs)
        sized = "#{url}?bytes=#{64 * MEBIBYTE}"
        ratios = suite.repeat do
          seconds = [ours, theirs].shuffle.to_h { |way| [way, read(way, sized, 60).fetch("seconds")] }
          seconds[theirs] / seconds[ours]
        end
        suite.add(Figure.of(ratios, name: name, unit: "x", bar: BAR))
      end

      def memory(suite, name, url)
        grown = read("each_json", "#{url}?bytes=#{1024 * MEBIBYTE}", 300).fetch("grown")
        suite.add(Figure.new(name: name, unit: "MB", value: grown.fdiv(MEBIBYTE), bar: MOST_MEGABYTES, better: "lower",
                             samples: 1))
      end

      def read(way, url, limit)
        output, status = Trunkline::Lab::Processes.run(RbConfig.ruby, READER, way, url, limit: limit)
        raise Tools::Failed, output unless status.success?

        JSON.parse(output.lines.last)
      end
    end
  end
end
