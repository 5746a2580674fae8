# frozen_string_literal: true

# Runs the tests of the files that it is given. Some of these load the tests of others, as to run them again over
# HTTP/2; those of the others run with their own files.

FILES = ARGV.map { |file| File.expand_path(file) }.freeze
ARGV.clear
FILES.each { |file| require file }

Minitest::Runnable.runnables.reject! do |tests|
  file, = Object.const_source_location(tests.name) if tests.name
  file && File.basename(file).start_with?("test_") && !FILES.include?(File.expand_path(file))
end
