# frozen_string_literal: true

require_relative "support/ci"

desc "Every check and test, section by section, with a summary (what bin/test runs)"
task :ci do
  gems = { "trunkline" => "trunkline:test", "trunkline-lab" => "lab:test", "trunkline-bulk" => "bulk:test",
           "trunkline-xml" => "xml:test" }
  suites = gems.select { |folder, _| File.directory?(File.join(ROOT, folder)) }
  # Among the sections that run in parallel, the longest come first, and so do those of a namespace with several
  # sections, which run one at a time: started later, they would end long after the others.
  sections = {
    "Ruby style (RuboCop)" => "lint",
    "Signatures (RBS)" => "signatures",
    "C format (clang-format)" => "format:check",
    "C includes follow the order of the layers" => "includes:check",
    "Files and C functions are short" => "sizes:check",
    "Extensions compile without a warning (gcc, clang)" => "compile:pedantic",
    **suites.transform_keys { |folder| "#{folder}: the Ruby suite" },
    "trunkline: TLS with two copies of OpenSSL" => "package:two_openssls",
    "Packages, installed into a separate GEM_HOME" => "package:test",
    "Packages installed without a compiler, and on JRuby" => "package:engines",
    "trunkline: tests fail when a safety rule is removed" => "mutants:quick",
    "trunkline: part of the suite on the engine in Ruby" => "engines:quick",
    "trunkline: tests left out on the engine in Ruby" => "engines:left_out",
    "trunkline: both engines read the same bytes alike" => "engines:fuzz:quick",
    "protocol/: unit tests, plain and sanitized" => "protocol:test",
    "transport/: unit tests, plain and sanitized" => "transport:test",
    "transport/: unit tests, built without epoll, eventfd, ppoll" => "transport:test:poll",
    "protocol/: fuzzing" => "protocol:fuzz",
    "WebMock's examples, for clients and for Net::HTTP" => "webmock",
    "trunkline: tests that wait, built without epoll, eventfd, ppoll" => "poll:quick",
    "trunkline: a minute of random faults, kills and forks" => "chaos:quick",
    "Examples in the documentation" => "docs:test",
    "Figures in the READMEs" => "figures:check"
  }
  exit(CI.new(sections, alone: %w[trunkline:test poll:quick],
                        quiet: %w[lint signatures format:check includes:check sizes:check compile:pedantic
                                  protocol:test protocol:fuzz figures:check]).run)
end
