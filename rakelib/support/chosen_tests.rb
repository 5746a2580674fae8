# frozen_string_literal: true

# Runs the tests of the given files, and reports those that took longest. Some of the files load the tests of other
# files, for instance to run them again over HTTP/2; the tests of those files run only when their file is given.

FILES = ARGV.map { |file| File.expand_path(file) }.freeze
ARGV.clear
FILES.each { |file| require file }

Minitest::Runnable.runnables.reject! do |tests|
  file, = Object.const_source_location(tests.name) if tests.name
  file && File.basename(file).start_with?("test_") && !FILES.include?(File.expand_path(file))
end

# Reports the tests that took longest.
class SlowestTests < Minitest::AbstractReporter
  LONG = 5.0 # seconds

  def initialize(output)
    super()
    @output = output
    @long = []
  end

  def record(result)
    @long << result if result.time >= LONG
  end

  def report
    @long.sort_by { |result| -result.time }.each do |result|
      @output.puts "took #{result.time.round(1)} s: #{result.klass}##{result.name}"
    end
  end
end

Minitest.extensions << "slowest_tests"
def Minitest.plugin_slowest_tests_init(options) = reporter << SlowestTests.new(options[:io])
