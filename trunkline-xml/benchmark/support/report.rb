# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"

# The figures of a run: as JSON for machines, as Markdown for people.
class Report
  # value against bar: at least it, or at most it; reach is what we would like.
  Figure = Struct.new(:name, :value, :spread, :unit, :bar, :reach, :at_most, keyword_init: true) do
    def holds? = bar.nil? || (at_most ? value <= bar : value >= bar)

    def to_h
      { name: name, value: value.round(3), spread: spread&.map { |edge| edge.round(3) }, unit: unit, bar: bar,
        reach: reach, at_most: at_most, holds: holds? }
    end

    def row
      limit = if bar
                "#{at_most ? "at most" : "at least"} #{bar}#{" (#{reach})" if reach}"
              else
                ""
              end
      shown = [short(value), unit, spread && "(#{spread.map { |edge| short(edge) }.join(" to ")})"].compact.join(" ")
      "| #{name} | #{shown} | #{limit} | #{(holds? ? "yes" : "**no**") if bar} |"
    end

    def short(number) = format(number.abs < 100 ? "%.2f" : "%.0f", number)
  end

  def initialize(folder)
    @folder = folder
    @load_before = load_average
    @figures = []
    @tables = []
  end

  # @param measured [Measure::Summary, Numeric]
  def figure(name, measured, unit, bar: nil, reach: nil, at_most: false)
    value, spread = measured.is_a?(Numeric) ? [measured, nil] : measured.to_a
    figure = Figure.new(name: name, value: value, spread: spread, unit: unit, bar: bar, reach: reach, at_most: at_most)
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
             "#{Measure::ROUNDS} rounds, in brackets the quartiles; ratios are those of each round. Except where " \
             "it says otherwise, more is better.", "", *environment_lines]
    lines += ["", "| figure | value | must (reach for) | holds |", "|---|---|---|---|", *@figures.map(&:row)]
    @tables.each { |title, rows| lines += ["", "## #{title}", "", *rows] }
    "#{lines.join("\n")}\n"
  end

  private

  def environment
    @environment ||= { date: Time.now.utc.strftime("%Y-%m-%d %H:%M UTC"), machine: machine, load_before: @load_before,
                       load_after: load_average, versions: versions }
  end

  def environment_lines
    environment => { date:, machine:, load_before:, load_after:, versions: }
    ["#{date}; #{machine[:cores]} cores, #{machine[:cpu]}; #{machine[:kernel]}; load #{load_before.first} before, " \
     "#{load_after.first} after.", "", versions.map { |name, version| "#{name}: #{version}" }.join("; ")]
  end

  def versions
    peers = %i[builder nokogiri ox rexml rails puma].to_h { |name| [name, Gem.loaded_specs[name.to_s]&.version.to_s] }
    { ruby: RUBY_DESCRIPTION, compiler: `#{RbConfig::CONFIG["CC"]} --version`.lines.first.chomp, **peers }
  end

  def machine
    models = File.foreach("/proc/cpuinfo").grep(/model name/).map { |line| line.split(":").last.strip }
    { cpu: models.first, cores: models.size, kernel: `uname -srm`.chomp }
  end

  def load_average = File.read("/proc/loadavg").split.first(3).map(&:to_f)
end
