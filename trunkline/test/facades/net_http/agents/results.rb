# frozen_string_literal: true

require "json"
require_relative "comparison"

module Agents
  # The results of `rake agents`, kept next to this file, and the tables in docs/switching.md that are made from them.
  class Results
    PATH = File.join(__dir__, "results.json")
    PAGE = File.join(Comparison::ROOT, "docs/switching.md")
    PLACE = %r{^<!-- agents: (?<level>\w+) -->\n\K.*?(?=^<!-- /agents -->$)}m
    # For each case that differs.
    KEPT_DIFFERENCES = 5

    # @return [Hash{String => Hash{String => Hash}}] by level and the agent's title
    attr_reader :levels

    def self.kept = new(JSON.parse(File.read(PATH)))

    # Runs the comparisons, one after the other.
    # @yield [agent, Hash] each agent, and its kept results
    def self.measure(chosen = Comparison::AGENTS)
      new(chosen.group_by(&:level).transform_values do |agents|
        agents.to_h { |agent| [agent.title, of(agent).tap { |kept| yield agent, kept }] }
      end)
    end

    # @param agent [Comparison::Agent]
    # @return [Hash] "differences" by order and case, with the versions; or "unavailable" with the reason
    def self.of(agent)
      result = Comparison.new(agent).call
      { "version" => result.versions[agent.gem], "net_http" => result.versions.fetch("net-http"),
        "differences" => result.orders.transform_values { |cases| shortened(cases) } }
    rescue Comparison::Unavailable => error
      { "unavailable" => error.message }
    end

    # The cases that differ, each with its first differences.
    def self.shortened(cases)
      cases.reject { |_, found| found.empty? }.transform_values { |found| found.first(KEPT_DIFFERENCES) }
    end
    private_class_method :shortened

    # @param levels [Hash{String => Hash{String => Hash}}]
    def initialize(levels)
      @levels = levels
    end

    # @param agent [Comparison::Agent]
    def [](agent) = levels.fetch(agent.level).fetch(agent.title)

    def write
      File.write(PATH, "#{JSON.pretty_generate(levels)}\n")
      File.write(PAGE, page)
    end

    # @return [String] the page with the tables inserted
    def page(text = File.read(PAGE))
      missing = levels.keys - text.scan(PLACE).flatten
      raise "#{PAGE} has no place for the table of #{missing.join(", ")}" unless missing.empty?

      text.gsub(PLACE) { "\n#{table(levels.fetch(Regexp.last_match(:level))).join("\n")}\n\n" }
    end

    private

    def table(agents)
      cases = Calls::CASES.keys
      ["| beside | version | #{cases.join(" | ")} |", "|#{"---|" * (cases.size + 2)}",
       *agents.map { |title, kept| "| #{[title, *cells(kept, cases)].join(" | ")} |" }]
    end

    def cells(kept, cases)
      return ["", "not run: #{kept["unavailable"].lines.first.strip}", *[""] * (cases.size - 1)] if kept["unavailable"]

      [kept["version"], *cases.map { |name| cell(kept["differences"].select { |_, found| found.key?(name) }.keys) }]
    end

    # @param orders [Array<String>] the orders in which the case differs
    def cell(orders)
      case orders
      when [] then "equal"
      when ["agent_first"] then "differs when it is loaded first"
      when ["install_first"] then "differs when it is loaded second"
      else "differs"
      end
    end
  end
end
