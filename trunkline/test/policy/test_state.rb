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

  def test_the_least_recently_used_states_are_removed
    first = state(0)
    second = state(1)
    (2...State::MOST).each { |key| state(key) }
    assert_same first, state(0)
    state(:more)
    assert_equal State::MOST, State.all(:test).size
    assert_same first, state(0)
    refute_same second, state(1)
  end

  def test_a_state_whose_block_raises_is_not_stored
    assert_raises(IOError) { State.of(:test, 0) { raise IOError } }
    assert_empty State.all(:test)
    assert_same state(0), state(0)
  end
end
