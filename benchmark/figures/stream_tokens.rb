# frozen_string_literal: true

require "json"
require_relative "../support/figure"
require_relative "../support/token_origin"

module Bench
  module Figures
    # Concurrent model streams in one process: the time from before the first request until the first token of each
    # stream, compared with a C program that does nothing else; and the memory that the streams take. Each sample is a
    # separate process; the processes run in pairs. The bar is for a process that has read as many streams before, as a
    # service has; the figure of a new process is reported as well.
    class StreamTokens
      STREAMS = 200
      BAR = 1.1
      READER = File.expand_path("../support/token_reader.rb", __dir__)
      PROGRAM = File.expand_path("../support/token_streams.c", __dir__)
      LIMIT = 60

      def title = "#{STREAMS} model streams side by side, POSTs to a repeated URL"

      def call(suite)
        program = Trunkline::Lab::Limits::Program.compile(PROGRAM, [])
        TokenOrigin.run do |port|
          %w[threads fibers futures].each { |way| measure(suite, way, program, port) }
        end
      end

      private

      def measure(suite, way, program, port)
        pairs = suite.repeat do
          tasks = { ours: [RbConfig.ruby, READER, way], bare: [program] }
          tasks.to_a.shuffle.to_h { |who, command| [who, read(*command, port.to_s, STREAMS.to_s)] }
        end
        compare(suite, way, pairs, bar: BAR)
        anew = pairs.map { |pair| { **pair, ours: pair[:ours]["anew"] } }
        compare(suite, "#{way} of a new process", anew)
        grown = pairs.map { |pair| pair[:ours]["grown"].fdiv(STREAMS * 1024) }
        suite.add(Figure.of(grown, name: "#{title}, #{way}: growth of memory for each", unit: "KB", better: "lower"))
      end

      def compare(suite, way, pairs, bar: nil)
        { "median" => 0.5, "last" => 1.0 }.each do |which, share|
          ratios = pairs.map { |pair| first(pair[:ours], share) / first(pair[:bare], share) }
          suite.add(Figure.of(ratios, name: "#{title}, #{way}: the #{which} first token against a bare C program's",
                                      unit: "x", bar: bar, better: "lower"))
        end
      end

      def first(result, share) = result["firsts"][((result["firsts"].size - 1) * share).round]

      def read(*command)
        output = Trunkline::Lab::Limits::Program.run(*command, limit: LIMIT)
        result = JSON.parse(output.lines.last)
        [result, result["anew"]].compact.each do |round|
          raise Tools::Failed, "#{File.basename(command.first)} had #{round["tokens"]} tokens" unless complete?(round)
        end
        result
      end

      def complete?(round) = round["firsts"].size == STREAMS && round["tokens"] == STREAMS * TokenOrigin::TOKENS
    end
  end
end
