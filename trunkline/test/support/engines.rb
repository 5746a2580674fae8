# frozen_string_literal: true

require "yaml"

# Skips the tests that the lists leave out.
module Engines
  JRUBY = RUBY_ENGINE == "jruby"
  LISTS = {
    "engines.yml" => Trunkline::ENGINE == :ruby,
    "engines_cruby.yml" => Trunkline::ENGINE == :ruby && !JRUBY,
    "engines_jruby.yml" => JRUBY,
    "engines_jruby_9.yml" => JRUBY && !Fiber.respond_to?(:set_scheduler)
  }.freeze

  # @param names [Array<String>] names of lists
  # @return [Hash{String => String}] entries with reasons
  def self.left_out(names) = names.map { |name| YAML.load_file("#{__dir__}/../#{name}") }.reduce({}, :merge)

  LEFT_OUT = left_out(LISTS.select { |_, used| used }.keys).freeze

  # An entry for a test, class or module also leaves out the tests that subclasses inherit, such as those over HTTP/2.
  # @param tests [Class] a class of tests
  # @param name [String] the name of one of its tests
  # @return [String, nil] the entry that leaves it out: a test, a class, a file or a folder
  def self.entry(tests, name, left_out = LEFT_OUT)
    names = tests.ancestors.filter_map(&:name)
    file = Object.const_source_location(names.first)&.first.to_s
    names.flat_map { |one| ["#{one}##{name}", one] }.find { |one| left_out.key?(one) } ||
      left_out.keys.find { |place| file.include?("/#{place}") }
  end

  def before_setup
    super
    entry = LEFT_OUT.empty? ? nil : Engines.entry(self.class, name)
    skip(LEFT_OUT[entry]) if entry
  end
end
