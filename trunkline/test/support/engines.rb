# frozen_string_literal: true

require "yaml"

# Leaves out what the lists name, each where it is used.
module Engines
  JRUBY = RUBY_ENGINE == "jruby"
  LISTS = {
    "engines.yml" => Trunkline::ENGINE == :ruby,
    "engines_cruby.yml" => Trunkline::ENGINE == :ruby && !JRUBY,
    "engines_jruby.yml" => JRUBY,
    "engines_jruby_9.yml" => JRUBY && !Fiber.respond_to?(:set_scheduler)
  }.freeze

  # @param names [Array<String>] of lists
  # @return [Hash{String => String}] what they leave out, with reasons
  def self.left_out(names) = names.map { |name| YAML.load_file("#{__dir__}/../#{name}") }.reduce({}, :merge)

  LEFT_OUT = left_out(LISTS.select { |_, used| used }.keys).freeze

  # The tests of a class or module that are left out are so in its descendants, too, such as those over HTTP/2.
  # @param tests [Class] of tests
  # @param name [String] of one of them
  # @return [String, nil] by which name of the lists it is left out: a test, a class, a file or a folder
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
