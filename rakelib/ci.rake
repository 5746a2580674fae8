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
    "C includes go one way" => "includes:check",
    "Extensions compile without a warning (gcc, clang)" => "compile:pedantic",
    **suites.transform_keys { |folder| "#{folder}: the Ruby suite" },
    "trunkline: TLS with two copies of OpenSSL" => "package:two_openssls",
    "Packages, installed into a GEM_HOME of their own" => "package:test",
    "Packages without a compiler, and for JRuby" => "package:engines",
    "trunkline: tests notice that a safety rule is missing" => "mutants:quick",
    "trunkline: a part of its suite on the engine in Ruby" => "engines:quick",
    "trunkline: what the engine in Ruby leaves out of it" => "engines:left_out",
    "trunkline: the same bytes to both engines" => "engines:fuzz:quick",
    "protocol/: unit tests, plain and sanitized" => "protocol:test",
    "transport/: unit tests, plain and sanitized" => "transport:test",
    "transport/: unit tests without epoll, eventfd, ppoll" => "transport:test:poll",
    "protocol/: fuzzing" => "protocol:fuzz",
    "WebMock's examples, for clients and of Net::HTTP" => "webmock",
    "trunkline: what waits, without epoll, eventfd, ppoll" => "poll:quick",
    "trunkline: a minute of chaos" => "chaos:quick",
    "Examples in the documentation" => "docs:test",
    "Figures in the READMEs" => "figures:check"
  }
  exit(CI.new(sections, alone: %w[trunkline:test poll:quick],
                        quiet: %w[lint signatures format:check includes:check compile:pedantic protocol:test
                                  protocol:fuzz figures:check]).run)
end
