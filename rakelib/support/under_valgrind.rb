# frozen_string_literal: true

# Runs Ruby with these arguments under valgrind, and tells what is the extension's. Programs that the tests begin are
# not followed, and forks say nothing: each may end, or become another program, in the middle of its report. CRuby reads
# bytes of its stack that were never set, so those do not count here.

require "ruby_memcheck"

# What was freed is kept from use for a while, but not so much of it that tests of memory fail.
OPTIONS = %w[--num-callers=50 --freelist-vol=4000000 --error-limit=no --trace-children=no
             --child-silent-after-fork=yes --undef-value-errors=no --leak-check=full --show-leak-kinds=definite].freeze

SUPPRESSIONS = File.expand_path("../../trunkline/test/suppressions", __dir__)

configuration = RubyMemcheck::Configuration.new(binary_name: "trunkline", valgrind_options: OPTIONS,
                                                valgrind_suppressions_dir: SUPPRESSIONS)
exit RubyMemcheck::RubyRunner.new(configuration).run(*ARGV)
