# frozen_string_literal: true

# Finds the tests that need a Fiber scheduler, in the compiled methods: those that call Sync or Async, by themselves, by
# helpers, or by a Proc in a table of their class, whose key is in the test's name.
class FiberSchedulerTests
  CALLS = %w[Sync Async].freeze
  # What a test says that skips itself.
  SKIPS = "fibers need"

  def initialize
    @code = {}
    @keys = {}
  end

  # @param tests [Class] a class of tests
  # @param name [String] the name of one of its tests
  def include?(tests, name)
    needs?(tests, name.to_sym, {}) || keys(tests).any? { |key| name.match?(/_#{key}(_|\z)/) }
  end

  private

  def needs?(tests, name, seen)
    return false if seen[name]

    seen[name] = true
    implementations(tests, name).each do |method|
      code = code(method)
      return true if code.include?(SKIPS)
      return false if code.include?(":FIBERS") # it does its other part without fibers
      return true if scheduled?(code) || calls(code).any? { |call| needs?(tests, call.to_sym, seen) }
    end
    false
  end

  # @return [Array<UnboundMethod>] the method, and those that it may call by super
  def implementations(tests, name)
    return [] unless tests.method_defined?(name) || tests.private_method_defined?(name)

    found = []
    method = tests.instance_method(name)
    while method && ours?(method.source_location)
      found << method
      method = method.super_method
    end
    found
  end

  def ours?(place) = place&.first.to_s.include?("/test/")
  def code(method) = @code[method] ||= RubyVM::InstructionSequence.of(method)&.disasm.to_s
  def calls(code) = code.scan(/mid:([\w?!]+)/).flatten.uniq
  def scheduled?(code) = CALLS.any? { |name| calls(code).include?(name) }

  def keys(tests)
    @keys[tests] ||= tables(tests).flat_map do |table|
      table.select { |_, value| value.is_a?(Proc) && scheduled?(code(value)) }.keys
    end
  end

  # The Hashes among the constants of the class and its modules.
  def tables(tests)
    ours = tests.ancestors.select { |one| one.name && ours?(Object.const_source_location(one.name)) }
    ours.flat_map { |one| one.constants(false).map { |name| one.const_get(name, false) } }.grep(Hash)
  end
end
