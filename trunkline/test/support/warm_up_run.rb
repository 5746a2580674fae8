# frozen_string_literal: true

# For tests of exact times. On JRuby each test runs once before, since loading and linking its code takes hundredths of
# a second at the first run.
module WarmUpRun
  def setup
    super
    warm_up if RUBY_ENGINE == "jruby"
  end

  private

  def warm_up
    public_send(name)
  rescue StandardError, Minitest::Assertion
    nil # the real run will report it
  ensure
    close_everything
  end
end
