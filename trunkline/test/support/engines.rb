# frozen_string_literal: true

require "yaml"

# Leaves out what engines.yml names, while the engine in Ruby is used, and what engines_jruby.yml names, on JRuby.
module Engines
  LISTS = { "engines.yml" => Trunkline::ENGINE == :ruby, "engines_jruby.yml" => RUBY_ENGINE == "jruby" }.freeze
  USED = LISTS.select { |_, used| used }.keys
  LEFT_OUT = USED.map { |list| YAML.load_file("#{__dir__}/../#{list}") }.reduce({}, :merge)

  # @return [String, nil] why a test is left out
  def self.reason(test)
    return if LEFT_OUT.empty?

    name = test.class.name
    file = Object.const_source_location(name)&.first.to_s
    LEFT_OUT["#{name}##{test.name}"] || LEFT_OUT[name] || LEFT_OUT.find { |place, _| file.include?("/#{place}") }&.last
  end

  def before_setup
    super
    reason = Engines.reason(self) and skip(reason)
  end
end
