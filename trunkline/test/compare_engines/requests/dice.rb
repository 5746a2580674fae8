# frozen_string_literal: true

# Random choices. The same seed gives the same choices.
class Dice
  # One in as many choices is a rare one.
  RARE = 12

  def initialize(seed)
    @random = Random.new(seed)
  end

  def pick(list) = list[@random.rand(list.size)]

  # @return [Object] mostly one of the first list
  def mostly(usual, rare) = pick(one_in?(RARE) ? rare : usual)

  # @return [Boolean] true in one of `count` cases
  def one_in?(count) = @random.rand(count).zero?

  # @param range [Range]
  # @return [Integer]
  def int(range) = @random.rand(range)

  # @param weights [Hash{Symbol => Integer}]
  # @return [Symbol] one of the keys, in proportion to its weight
  def weighted(weights)
    at = @random.rand(weights.values.sum)
    weights.each { |key, weight| return key if (at -= weight).negative? }
  end

  # @return [Array] values of the block; the Range has their number
  def many(range, &block) = Array.new(int(range)) { block.call }

  # @return [Array] a part of the list, in another order
  def some(list, range) = list.sample(int(range), random: @random)

  # @return [String] BINARY
  def bytes(count) = @random.bytes(count)
end
