# frozen_string_literal: true

require "json"
require "rbconfig"

# Runs the same script with each engine, at the same time.
module EnginePair
  NAMES = %w[c ruby].freeze
  LIB = File.expand_path("../../lib", __dir__)

  class << self
    # @param count [Integer] of the lines of JSON that the script prints, each with a number
    # @param script [String] a path
    # @return [Array<Hash{Integer => Hash}>] what each engine gave, by number
    def results(count, script, *arguments)
      NAMES.map { |engine| Thread.new { results_of(engine, count, script, arguments) } }.map(&:value)
    end

    # @return [String] the codings that both engines decode
    def common_codings
      lists = NAMES.map { |engine| output(engine, "-rtrunkline", "-e", "print Trunkline::Engine::CODINGS") }
      lists.map { |list| list.split(", ") }.reduce(:&).join(", ")
    end

    # @return [String] what Ruby prints, run with these arguments
    def output(engine, *arguments)
      IO.popen({ "TRUNKLINE_ENGINE" => engine }, [RbConfig.ruby, "-I", LIB, *arguments.map(&:to_s)], &:read)
    end

    private

    def results_of(engine, count, script, arguments)
      lines = output(engine, script, *arguments).lines
      raise "the engine #{engine} gave #{lines.size} of #{count} results" if lines.size != count

      lines.to_h { |line| JSON.parse(line).then { |row| [row.delete("number").to_i, row] } }
    end
  end
end
