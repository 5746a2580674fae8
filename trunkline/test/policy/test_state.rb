# frozen_string_literal: true

require_relative "../test_helper"

# The state that policies keep for origins.
class TestPolicyState < TrunklineTest
  State = Trunkline::Policy::State

  def teardown
    super
    State.clear
  end

  def state(key) = State.of(:test, key) { Object.new }

  def test_those_used_longest_ago_are_forgotten
    first = state(0)
    second = state(1)
    (2...State::MOST).each { |key| state(key) }
    assert_same first, state(0)
    state(:more)
    assert_equal State::MOST, State.all(:test).size
    assert_same first, state(0)
    refute_same second, state(1)
  end

  def test_what_cannot_be_made_is_not_known
    assert_raises(IOError) { State.of(:test, 0) { raise IOError } }
    assert_empty State.all(:test)
    assert_same state(0), state(0)
  end
end
