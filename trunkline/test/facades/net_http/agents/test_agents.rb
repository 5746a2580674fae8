# frozen_string_literal: true

require_relative "../../../test_helper"
require_relative "results"

# The most used agents, with install! and Faraday's adapter in both orders: the results must be the kept ones, which
# docs/switching.md reports. `rake agents` runs all agents.
class TestAgents < TrunklineTest
  KEPT = Agents::Results.kept

  Agents::Comparison::AGENTS.select(&:common).each do |agent|
    define_method("test_#{agent.file}_beside_#{agent.level}") do
      unless SeparateBundle.installed?("agents")
        skip "the gems of gemfiles/agents are not installed; bin/setup says why"
      end

      found = Agents::Results.of(agent)

      assert_nil found["unavailable"]
      assert_empty news(found["differences"], KEPT[agent].fetch("differences"))
    end
  end

  def test_every_agent_has_its_row
    rows = KEPT.levels.flat_map { |level, agents| agents.keys.map { |title| [level, title] } }

    assert_equal Agents::Comparison::AGENTS.map { |agent| [agent.level, agent.title] }, rows
  end

  def test_the_tables_are_made_from_the_results
    assert_equal KEPT.page, File.read(Agents::Results::PAGE)
  end

  private

  # The differences that the kept results do not have.
  def news(found, kept)
    found.to_h { |order, cases| [order, cases.except(*kept.fetch(order).keys)] }.reject { |_, cases| cases.empty? }
  end
end
