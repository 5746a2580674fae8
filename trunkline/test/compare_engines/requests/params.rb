# frozen_string_literal: true

# Random values of params: and form:.
class RequestParams
  NAMES = ["a", :a, "b", :b, "page", :page, "B", :"x y", "x y", "a[]", "", nil, 1, "\u00e9", :é].freeze
  KINDS = { nested: 15, pairs: 5, flat: 4, other: 1 }.freeze

  def initialize(dice, texts)
    @dice = dice
    @texts = texts
  end

  def any
    case @dice.weighted(KINDS)
    when :nested then hash(2)
    when :pairs then @dice.many(0..4) { [name, value(1)] }
    when :flat then @dice.many(0..30) { [name, @texts.scalar] }.to_h
    else @dice.pick([nil, {}, [], "a=1", 1, false, [["a"]], [%w[a b c]], { nil => nil }, [nil], [[nil, nil]],
                     { "a" => @texts.odd }, Class.new(Hash)[a: 1], { a: 1 }.each, @texts.odd])
    end
  end

  private

  def hash(depth) = @dice.many(0..4) { [name, value(depth)] }.to_h

  def name = @dice.one_in?(4) ? @texts.scalar : @dice.pick(NAMES)

  def value(depth)
    return @texts.scalar if depth.zero? || !@dice.one_in?(4)

    @dice.one_in?(2) ? hash(depth - 1) : @dice.many(0..3) { value(depth - 1) }
  end
end
