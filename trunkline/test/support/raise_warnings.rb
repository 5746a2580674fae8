# frozen_string_literal: true

# A warning about our own code fails the test in which it appears; those of other gems are theirs.
module RaiseWarnings
  OURS = File.expand_path("../..", __dir__)
  Unexpected = Class.new(StandardError)

  def warn(message, category: nil)
    raise Unexpected, message if message.include?(OURS)

    category ? super : super(message)
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.extend(RaiseWarnings)
