# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/call_tree"

# Random calls to Builder::XmlMarkup and to our builder must be indistinguishable to a user: output, encodings, the
# fragments that a target receives, return values, exceptions. TREES=1000000 SEED=1 repeats or extends a run.
class TestDifferential < Minitest::Test
  TREES = Integer(ENV.fetch("TREES", "20000"))
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000_000))
  # A subclass uses the implementation in Ruby.
  IN_RUBY = Class.new(Trunkline::XML::Builder)

  def test_same_as_builder
    puts "differential: #{TREES} trees, SEED=#{SEED}"
    compare(Trunkline::XML::Builder, TREES)
  end

  def test_same_as_builder_when_in_ruby
    compare(IN_RUBY, TREES / 4)
  end

  private

  def compare(ours, trees)
    trees.times do |index|
      tree, expected = reference do
        tree = CallTree.new(SEED + index)
        [tree, tree.play(Builder::XmlMarkup)]
      end
      actual = tree.play(ours)
      assert_equal expected, actual, tree.to_s unless expected == actual
    end
    pass
  end
end
