# frozen_string_literal: true

require "open3"
require_relative "support/command"

# The C tests and a part of the Ruby suite under valgrind.
module Memcheck
  # The command for C programs. It does not check for leaks, which LeakSanitizer finds (protocol:test, transport:test).
  ALONE = %w[valgrind --quiet --error-exitcode=1 --num-callers=30 --leak-check=no --track-origins=yes].freeze

  module_function

  def run(files)
    passed = Command.at_once(files) do |file|
      output, status = Open3.capture2e(RbConfig.ruby, "#{ROOT}/rakelib/support/under_valgrind.rb",
                                       *Suites.arguments("trunkline", [file]), chdir: ROOT)
      puts "-- #{file.delete_prefix("#{ROOT}/")}", output
      status.success?
    end
    failed = files.reject.with_index { |_, at| passed[at] }
    abort "failed:\n#{failed.join("\n")}" unless failed.empty?
  end
end

desc "valgrind: the C tests, and of the Ruby suite those that GC.stress pushes"
task memcheck: %w[memcheck:c memcheck:ruby]

namespace :memcheck do
  desc "The C tests under valgrind: wrong accesses, bytes that were never set"
  task(:c) { %w[protocol transport].each { |library| EngineBuild.test(library, "plain", Memcheck::ALONE) } }

  desc "Leaks and wrong accesses of tests whose subject is neither time nor thousands of calls (FILES=... for others)"
  task(ruby: :compile) { Memcheck.run(ENV.key?("FILES") ? Suites.files("trunkline") : Suites.stressable("trunkline")) }
end
