# frozen_string_literal: true

require "json"
require_relative "comparison"

class SDK
  # The results of `rake sdks`, kept next to this file, and the table in docs/switching.md that is made from them.
  class Results
    PATH = File.join(__dir__, "results.json")
    PAGE = File.join(SeparateBundle::ROOT, "docs/switching.md")
    PLACE = %r{^<!-- sdks -->\n\K.*?(?=^<!-- /sdks -->$)}m
    HEAD = ["SDK", "version", "calls over", "with `install!`", "with `:trunkline`", "connections"].freeze
    # For each run that differs.
    KEPT_DIFFERENCES = 5

    # @return [Hash{String => Hash}] by the SDK's title
    attr_reader :sdks

    def self.kept = new(JSON.parse(File.read(PATH)))

    # Runs the SDKs, one after the other.
    # @yield [sdk, Hash] each SDK, and its kept results
    def self.measure(chosen = SDK.all)
      new(chosen.sort_by { |sdk| sdk.about.title.downcase }.to_h do |sdk|
        [sdk.about.title, of(sdk).tap { |kept| yield sdk, kept }]
      end)
    end

    # @param sdk [Class] a subclass of SDK
    # @return [Hash] "version", "connections" and "differences" by mode; or "unavailable" with the reason
    def self.of(sdk)
      plain, others = Comparison.new(sdk).runs.then { |runs| [runs["plain"], runs.except("plain")] }
      differences = others.to_h do |mode, run|
        [mode, Comparison.differences(plain, run, adapter: mode == "adapter")]
      end
      { "version" => plain.version, "over" => sdk.about.over, "calls" => plain.results.flatten(1).size,
        "connections" => { "plain" => plain, **others }.transform_values(&:connections),
        "differences" => differences.transform_values { |found| found.first(KEPT_DIFFERENCES) } }
    rescue Comparison::Unavailable => error
      { "unavailable" => error.message }
    end

    # @param sdks [Hash{String => Hash}]
    def initialize(sdks)
      @sdks = sdks
    end

    # @param sdk [Class] a subclass of SDK
    def [](sdk) = sdks.fetch(sdk.about.title)

    def write
      File.write(PATH, "#{JSON.pretty_generate(sdks)}\n")
      File.write(PAGE, page)
    end

    # @return [String] the page with the table inserted
    def page(text = File.read(PAGE))
      raise "#{PAGE} has no place for the table" unless text.match?(PLACE)

      text.sub(PLACE) { "\n#{table.join("\n")}\n\n" }
    end

    private

    def table
      ["| #{HEAD.join(" | ")} |", "|#{"---|" * HEAD.size}", *sdks.map do |title, kept|
        "| #{[title, *cells(kept)].join(" | ")} |"
      end]
    end

    def cells(kept)
      return ["", "not run: #{kept["unavailable"].lines.first.strip}", "", "", ""] if kept["unavailable"]

      [kept["version"], kept["over"], *%w[installed adapter].map { |mode| verdict(kept["differences"][mode]) },
       kept["connections"].values_at("plain", "installed", "adapter").compact.join(" → ")]
    end

    def verdict(differences)
      return "" unless differences

      differences.empty? ? "equal" : "differs"
    end
  end
end
