# frozen_string_literal: true

# For tests of exact times. JRuby reads and links what a test needs when it is first run, which takes hundredths of a
# second: there each is run once before.
module Rehearsal
  def setup
    super
    rehearse if RUBY_ENGINE == "jruby"
  end

  private

  def rehearse
    public_send(name)
  rescue StandardError, Minitest::Assertion
    nil # the test itself will say so
  ensure
    close_everything
  end
end
