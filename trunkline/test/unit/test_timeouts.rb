# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/timeouts"

class TestTimeoutValues < UnitTest
  Timeouts = Trunkline::Timeouts

  def test_a_number_is_the_total
    assert_equal({ total: 2.0 }, Timeouts.of(2).to_h.compact)
    assert_equal({ total: 0.25 }, Timeouts.of(0.25).to_h.compact)
    assert_equal({ total: 0.5 }, Timeouts.of(1/2r).to_h.compact)
  end

  def test_a_hash_names_phases
    given = { queue: 1, resolve: 2, connect: 3, tls: 4, write: 5, first_byte: 6, read: 7, total: 8 }
    assert_equal given.transform_values(&:to_f), Timeouts.of(given).to_h
  end

  def test_any_finite_number_will_do
    { 1e300 => 1e300, 10**30 => 1e30, 10**400 => Float::MAX, Rational(10**30, 3) => 1e30 / 3 }.each do |given, seconds|
      assert_in_epsilon seconds, Timeouts.of(given).total
      assert_in_epsilon seconds, Timeouts.of({ read: given }).read
    end
  end

  def test_the_total_is_no_phase
    assert_equal Timeouts::PHASES, Timeouts.of(5).phases.keys
  end

  def test_a_number_replaces_what_was_set_before
    assert_equal({ total: 9.0 }, Timeouts.of(9, Timeouts.of({ connect: 1, total: 5 })).to_h.compact)
  end

  def test_a_hash_changes_what_it_names
    base = Timeouts.of({ connect: 1, total: 5 })
    assert_equal({ connect: 2.0, total: 5.0 }, Timeouts.of({ connect: 2 }, base).to_h.compact)
    assert_equal({ total: 5.0 }, Timeouts.of({ connect: nil }, base).to_h.compact)
  end

  def test_none_at_all_is_missing
    [nil, {}, { connect: nil }].each { |given| assert_raises(Trunkline::MissingTimeout) { Timeouts.of(given) } }
    assert_raises(Trunkline::MissingTimeout) { Timeouts.of({ total: nil }, Timeouts.of(5)) }
  end

  def test_without_a_total_every_phase_has_a_limit
    all = Timeouts::PHASES.to_h { |phase| [phase, Timeouts::DEFAULT] }
    assert_equal({ **all, connect: 1.0, total: nil }, Timeouts.of({ connect: 1 }).to_h)
    never = { connect: 1, queue: nil, first_byte: nil, read: nil, total: nil }
    assert_equal({ **all, connect: 1.0, total: nil }, Timeouts.of(never).to_h)
    assert_equal({ **all, read: 3.0, total: nil }, Timeouts.of({ total: nil, read: 3 }, Timeouts.of(5)).to_h)
  end

  def test_a_default_is_nothing_that_was_named
    base = Timeouts.of({ connect: 1 })
    assert_equal({ connect: 1.0, total: 60.0 }, Timeouts.of({ total: 60 }, base).to_h.compact)
    assert_equal [1.0, 2.0, 30.0], Timeouts.of({ read: 2 }, base).to_h.values_at(:connect, :read, :first_byte)
  end

  def test_an_empty_hash_is_missing_whatever_was_set_before
    assert_raises(Trunkline::MissingTimeout) { Timeouts.of({}, Timeouts.of(5)) }
  end

  def test_a_missing_timeout_is_an_argument_error_with_a_hint
    error = assert_raises(ArgumentError) { Timeouts.of(nil) }
    assert_match(/timeout: 5.*Trunkline\.configure/, error.message)
  end

  [0, -1, 0.0, -1e300, -Float::INFINITY, Rational(-1, 3), Rational(1, 10**400), Float::NAN, Float::INFINITY, "5", :five,
   true, Complex(1, 1), []].each do |given|
    define_method(:"test_#{given.inspect}_is_refused") do
      assert_refused("timeout", "positive number of seconds") { Timeouts.of(given) }
      assert_refused("timeout: read", "positive number of seconds") { Timeouts.of({ read: given }) }
    end
  end

  def test_unknown_phases_are_refused
    assert_refused("timeout", ":conect", "connect") { Timeouts.of({ conect: 1 }) }
    assert_refused("timeout", '"total"') { Timeouts.of({ "total" => 1 }) }
  end

  def test_timeouts_are_a_frozen_value
    assert_predicate Timeouts.of(5), :frozen?
    assert_equal Timeouts.of(5), Timeouts.of({ total: 5.0 })
    assert_equal Timeouts.of(5).hash, Timeouts.of(5.0).hash
  end
end
