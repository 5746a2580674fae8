# frozen_string_literal: true

# A warning about our own code fails the test in which it appears; those of other gems are theirs.
module RaiseWarnings
  OURS = File.expand_path("../..", __dir__)
  # Ruby 3.4 says of gems that 3.5 has no more by itself who requires them. The tests may: fiddle.
  REQUIRED_BY_TESTS = %r{/test/[^:]+:\d+: warning: fiddle(\.rb)? was loaded from the standard library}
  Unexpected = Class.new(StandardError)

  # Once in a process, Ruby 3.4 and newer say so of what a fiber's scheduler is given to write.
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
