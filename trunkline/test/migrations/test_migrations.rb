# frozen_string_literal: true

require_relative "../test_helper"
require_relative "migration"

# The Rails applications on Faraday, HTTParty and Typhoeus: their specs are the same before and after the migration, and
# its changes are those that docs/switching.md describes. `rake migrations` measures the gain.
class TestMigrations < TrunklineTest
  PAGE = File.join(Migration::ROOT, "docs/switching.md")

  Migration::CLIENTS.each do |client|
    define_method("test_specs_of_#{client}") do
      skip "gemfiles/migrations is not installed; bin/setup says why" unless SeparateBundle.installed?("migrations")

      before, after = Migration.of(client) do |application|
        [application.specs, application.move && application.specs]
      end

      [before, after].each { |summary, output| assert_green summary, output }
      assert_equal before.first["example_count"], after.first["example_count"]
    end
  end

  def test_the_page_names_every_line_that_changes
    lines = Dir["#{__dir__}/*/migration.diff"].flat_map { |path| File.readlines(path).grep(/^\+(?!\+\+)/) }
    changes = lines.map { |line| line.delete_prefix("+").strip }.reject { |line| line.empty? || line.start_with?("#") }

    assert_operator changes.size, :>, Migration::CLIENTS.size
    assert_empty changes.uniq.reject { |change| File.read(PAGE).include?(change) }
  end

  private

  def assert_green(summary, output)
    assert_operator summary["example_count"], :>, 0, output
    assert_equal [0, 0, 0], summary.values_at(*Migration::BAD), output
  end
end
