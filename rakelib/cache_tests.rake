# frozen_string_literal: true

desc "The tests for caches of github.com/http-tests/cache-tests, on cache: (CACHE_TESTS=a checkout; needs node)"
task cache_tests: :compile do
  checkout = ENV.fetch("CACHE_TESTS") do
    abort "cache_tests: set CACHE_TESTS to a checkout of the tests:\n  " \
          "git clone https://github.com/http-tests/cache-tests\n  rake cache_tests CACHE_TESTS=cache-tests"
  end
  checkout = File.expand_path(checkout)
  unless File.exist?("#{checkout}/test-engine/client/runner.mjs")
    abort "cache_tests: #{checkout} is no checkout of cache-tests"
  end
  abort "cache_tests: node cannot be found" unless system("node", "--version", out: File::NULL)

  ruby "-I", "trunkline/lib", "trunkline/test/policy/cache_tests/suite.rb", checkout
end
