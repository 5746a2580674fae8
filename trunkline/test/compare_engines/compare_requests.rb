# frozen_string_literal: true

require "tmpdir"
require_relative "pair"

# Gives the same options and calls to both engines, and reports differences: in the bytes that a server receives, in
# what the caller can read of the request and its response, in errors. Also reports credentials in texts for people.
#
#   ruby compare_requests.rb COUNT SEED
#
# The environment's SHOWN is how many differences are printed.
class CompareRequests
  THREADS = 2
  # The number of cases for one pair of processes.
  AT_ONCE = 5_000
  SHOWN = Integer(ENV.fetch("SHOWN", 10))
  OUTCOMES = File.join(__dir__, "requests/outcomes.rb")
  # The facts that are shown of a call that failed with one engine alone.
  ENDINGS = %w[status url error message].freeze

  def initialize(count, seed)
    @count = count
    @seed = seed
    @found = []
  end

  # @return [Boolean] whether there is no difference
  def run # rubocop:disable Naming/PredicateMethod -- it does something first
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "file.txt"), "of a file, with some more bytes")
      (0...@count).step(AT_ONCE) { |from| compare(folder, from, [AT_ONCE, @count - from].min) }
      @found.first(SHOWN).each { |one| report(folder, *one) }
    end
    puts "seed #{@seed}: #{@count} clients with calls, #{@found.size} differences"
    @found.empty?
  end

  private

  def compare(folder, from, count)
    first, second = EnginePair.results(count, OUTCOMES, folder, @seed, from, count, THREADS)
    first.sort.each do |number, row|
      other = second.fetch(number)
      @found << [number, row, other] unless row == other && row["leaks"].empty?
    end
  end

  def report(folder, number, row, other)
    puts "case #{number} of seed #{@seed}: #{EnginePair.output("ruby", OUTCOMES, folder, @seed, number, 1, 0)}"
    row.each_key { |name| report_difference(name, row[name], other[name]) }
    puts "  credentials: #{row["leaks"].first(3)}" if row["leaks"].any?
  end

  def report_difference(path, one, other)
    return if one == other
    return report_parts(path, one, other, keys_of(one, other)) if one.is_a?(Hash)
    return report_parts(path, one, other, one.size.times) if one.is_a?(Array) && one.size == other.size

    one, other = [one, other].map(&:to_s)
    from = [one.each_char.zip(other.each_char).index { |pair| pair.uniq.size > 1 }.to_i - 60, 0].max
    puts "  #{path}, from #{from}:", "    c    #{one[from, 300]}", "    ruby #{other[from, 300]}"
  end

  def keys_of(one, other) = one.key?("status") == other.key?("status") ? one.keys | other.keys : ENDINGS

  def report_parts(path, one, other, keys)
    keys.each { |key| report_difference("#{path} #{key}", one[key], other[key]) }
  end
end

exit CompareRequests.new(Integer(ARGV.fetch(0)), Integer(ARGV.fetch(1))).run if $PROGRAM_NAME == __FILE__
