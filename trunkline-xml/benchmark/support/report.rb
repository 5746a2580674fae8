# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"

# The figures of a run: as JSON for machines, as Markdown for people.
class Report
  # value against bar: at least it, or at most it; reach is what we would like.
  Figure = Struct.new(:name, :value, :unit, :bar, :reach, :at_most, keyword_init: true) do
    def holds? = bar.nil? || (at_most ? value <= bar : value >= bar)

    def to_h
      { name: name, value: value.round(3), unit: unit, bar: bar, reach: reach, at_most: at_most, holds: holds? }
    end

    def row
      limit = if bar
                "#{at_most ? "at most" : "at least"} #{bar}#{" (#{reach})" if reach}"
              else
                ""
              end
      "| #{name} | #{format(value.abs < 100 ? "%.2f" : "%.0f",
                            value)} #{unit} | #{limit} | #{(holds? ? "yes" : "**no**") if bar} |"
    end
  end

  def initialize(folder)
    @folder = folder
    @figures = []
    @tables = []
  end

  def figure(name, value, unit, bar: nil, reach: nil, at_most: false)
    figure = Figure.new(name: name, value: value, unit: unit, bar: bar, reach: reach, at_most: at_most)
    @figures << figure
    warn figure.row
  end

  # A table of its own, below the figures.
  def table(title, lines)
    @tables << [title, lines]
  end

  def holds? = @figures.all?(&:holds?)

  def write
    FileUtils.mkdir_p(@folder)
    File.write(File.join(@folder, "xml.json"),
               "#{JSON.pretty_generate(environment: environment, figures: @figures.map(&:to_h))}\n")
    File.write(File.join(@folder, "xml.md"), markdown)
  end

  def markdown
    lines = ["# trunkline-xml beside its peers", "",
             "`rake bench:xml`. Outputs are compared before they are timed; CPU time, interleaved, medians of " \
             "#{Measure::ROUNDS} rounds; ratios of the same run. Except where it says otherwise, more is better.", ""]
    lines += environment.map { |key, value| "- #{key}: #{value}" }
    lines += ["", "| figure | value | must (reach for) | holds |", "|---|---|---|---|", *@figures.map(&:row)]
    @tables.each { |title, rows| lines += ["", "## #{title}", "", *rows] }
    "#{lines.join("\n")}\n"
  end

  private

  def environment
    { ruby: RUBY_DESCRIPTION, cpu: cpu, kernel: `uname -sr`.chomp,
      compiler: `#{RbConfig::CONFIG["CC"]} --version`.lines.first.chomp, load_average: load_average,
      date: Time.now.utc.strftime("%Y-%m-%d"), peers: peers }
  end

  def peers
    %w[builder nokogiri ox rexml rails puma].map { |name| "#{name} #{Gem.loaded_specs[name]&.version}" }.join(", ")
  end

  def cpu
    models = File.foreach("/proc/cpuinfo").grep(/model name/)
    "#{models.size} x #{models.first.to_s.split(":").last.to_s.strip}"
  rescue SystemCallError
    RbConfig::CONFIG["host_cpu"]
  end

  def load_average
    File.read("/proc/loadavg").split.first(3).join(" ")
  rescue SystemCallError
    "unknown"
  end
end
