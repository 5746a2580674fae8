# frozen_string_literal: true

# Runs Ruby with these arguments under valgrind, and reports errors of the extension. Programs that the tests start are
# not traced, and forked processes print nothing: each may exit, or execute another program, in the middle of its
# report. CRuby reads uninitialised bytes of its stack, so such reads are not reported.

require "ruby_memcheck"

# Freed memory is kept from reuse for a while, but not so much of it that tests of memory fail.
OPTIONS = %w[--num-callers=50 --freelist-vol=4000000 --error-limit=no --trace-children=no
             --child-silent-after-fork=yes --undef-value-errors=no --leak-check=full --show-leak-kinds=definite].freeze

SUPPRESSIONS = File.expand_path("../../trunkline/test/suppressions", __dir__)

configuration = RubyMemcheck::Configuration.new(binary_name: "trunkline", valgrind_options: OPTIONS,
                                                valgrind_suppressions_dir: SUPPRESSIONS)
exit RubyMemcheck::RubyRunner.new(configuration).run(*ARGV)
