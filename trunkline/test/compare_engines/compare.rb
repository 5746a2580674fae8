# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "origin"

# Sends the same bytes to both engines, and reports differences in status, fields, body, trailers, error, phase, what
# was sent, and whether the connection is kept.
#
#   ruby compare.rb COUNT SEED
class CompareEngines
  ENGINES = %w[c ruby].freeze
  THREADS = 12
  # The number of cases for one pair of processes.
  AT_ONCE = 5_000
  SHOWN = 10

  def initialize(count, seed)
    @count = count
    @seed = seed
    @origin = EnginesOrigin.new(seed)
    @differences = []
  end

  # @return [Boolean] whether there is no difference
  def run
    (0...@count).step(AT_ONCE) { |from| compare(from, [AT_ONCE, @count - from].min) }
    @differences.first(SHOWN).each { |one| report(*one) }
    puts "seed #{@seed}: #{@count} responses, #{@differences.size} differences"
    @differences.empty?
  ensure
    @origin.stop
  end

  private

  def compare(from, count)
    results = ENGINES.map { |engine| Thread.new { results_of(engine, from, count) } }.map(&:value)
    (from...(from + count)).each do |number|
      first, second = results.map { |rows| rows.fetch(number) }
      @differences << [number, first, second] if first != second
    end
  end

  def results_of(engine, from, count)
    command = [RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), File.join(__dir__, "outcomes.rb"),
               @origin.port, @seed, from, count, THREADS].map(&:to_s)
    lines = IO.popen({ "TRUNKLINE_ENGINE" => engine }, command, &:readlines)
    raise "the engine #{engine} gave #{lines.size} of #{count} results" if lines.size != count

    lines.to_h { |line| JSON.parse(line).then { |row| [row.delete("number").to_i, row] } }
  end

  def report(number, first, second)
    one = (HTTP2Cases.number?(number) ? HTTP2Cases : Cases).make(@seed, number)
    puts "case #{number} of seed #{@seed}: #{one.verb}, #{one.pieces.size} pieces: #{one.bytes.inspect[0, 600]}"
    (first.keys | second.keys).each do |name|
      puts "  #{name}: c #{first[name]}, ruby #{second[name]}" if first[name] != second[name]
    end
  end
end

exit CompareEngines.new(Integer(ARGV.fetch(0)), Integer(ARGV.fetch(1))).run if $PROGRAM_NAME == __FILE__
