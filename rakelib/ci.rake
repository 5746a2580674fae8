# frozen_string_literal: true

require_relative "support/ci"

desc "Every check and test, section by section, with a summary (what bin/test runs)"
task :ci do
  sections = {
    "Ruby style (RuboCop)" => "lint",
    "C format (clang-format)" => "format:check",
    "Extensions compile without a warning (gcc, clang)" => "compile:pedantic",
    "wire/: unit tests, plain and sanitized" => "wire:test",
    "line/: unit tests, plain and sanitized" => "line:test",
    "wire/: fuzzing" => "wire:fuzz",
    "trunkline: the Ruby suite" => "trunkline:test",
    "trunkline-xml: the Ruby suite" => "xml:test",
    "trunkline-lab: the Ruby suite" => "lab:test",
    "Examples in the documentation" => "docs:test",
    "Packages, installed into an empty GEM_HOME" => "package:test"
  }
  known = sections.select { |_, name| Rake::Task.task_defined?(name) }
  exit(CI.new(known).run)
end
