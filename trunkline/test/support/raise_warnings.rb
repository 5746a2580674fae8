# frozen_string_literal: true

# A warning about this project's code fails the test in which it appears; warnings about gems do not.
module RaiseWarnings
  OURS = File.expand_path("../..", __dir__)
  # Ruby 3.4 warns about a require of a gem that Ruby 3.5 no longer bundles. The tests may require fiddle.
  REQUIRED_BY_TESTS = %r{/test/[^:]+:\d+: warning: fiddle(\.rb)? was loaded from the standard library}
  Unexpected = Class.new(StandardError)

  # Ruby 3.4 and newer warn once per process when data to write is passed to a fiber scheduler.
  OF_SCHEDULERS = /warning: IO::Buffer is experimental/
  EXPECTED = Regexp.union(REQUIRED_BY_TESTS, OF_SCHEDULERS)

  def warn(message, category: nil)
    raise Unexpected, message if message.include?(OURS) && !message.match?(EXPECTED)

    category ? super : super(message)
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.extend(RaiseWarnings)
