# frozen_string_literal: true

require "json"

# The figures in a README, written from the kept results of the benchmarks. Between <!-- figures: NAME --> and
# <!-- /figures --> stands what benchmark/readme/NAME.md says, where
# - {{FILE: figure's name}} is a figure of benchmark/results/FILE.json, with its spread,
# - {{environment: FILE, ...}} tells on what these files were measured, and how loaded it was.
class Figures
  BLOCK = %r{(<!-- figures: ([\w-]+) -->\n).*?(<!-- /figures -->)}m
  PLACEHOLDER = /\{\{(\w+): (.+?)\}\}/

  # A figure, file or template that is not there, named in the message.
  class Missing < StandardError; end

  def initialize(results:, templates:)
    @results = results
    @templates = templates
    @files = {}
  end

  # @param page [String] the text of a README
  # @return [String] with its figures as they are in the results
  def update(page)
    page.gsub(BLOCK) do
      start, name, stop = Regexp.last_match.captures
      "#{start}\n#{block(name)}\n#{stop}"
    end
  end

  private

  def block(name)
    read(@templates, "#{name}.md").gsub(PLACEHOLDER) do
      file, what = Regexp.last_match.captures
      file == "environment" ? environment(what.split(", ")) : figure(file, what)
    end
  end

  def figure(file, name)
    figure = results(file).fetch("figures").find { |each| each.fetch("name") == name }
    raise Missing, "#{file}.json has no figure #{name.inspect}" unless figure

    value, spread, unit = figure.values_at("value", "spread", "unit")
    unit = unit.start_with?("x") ? "x" : " #{unit}"
    around = " (#{spread.map { |edge| short(edge) }.join(" to ")})" if spread
    "#{short(value)}#{unit}#{around}"
  end

  def environment(files)
    files.map { |file| "- `bench:#{file}`: #{measured_on(results(file).fetch("environment"))}" }.join("\n")
  end

  def measured_on(environment)
    machine = environment.fetch("machine")
    versions = environment.fetch("versions").except("compiler").map { |name, version| version_of(name, version) }
    load = environment.values_at("load_before", "load_after").map(&:first)
    [environment.fetch("date"), "#{machine.fetch("cores")} cores, #{machine.fetch("cpu")}", machine.fetch("kernel"),
     versions.join(", "), "load #{load.join(" before, ")} after"].join("; ")
  end

  # Name and number, of a version that may be told with its name and much more.
  def version_of(name, version)
    (version.downcase.start_with?(name) ? version : "#{name} #{version}")[/\A\S+ \S+/]
  end

  # Two digits of a figure above 2, three below.
  def short(number)
    return number.to_s if number.is_a?(Integer)

    decimals = { 10.. => 0, 2.. => 1 }.find { |range, _| range.cover?(number.abs) }&.last || 2
    format("%.#{decimals}f", number)
  end

  def results(file) = @files[file] ||= JSON.parse(read(@results, "#{file}.json"))

  def read(folder, file)
    File.read(File.join(folder, file))
  rescue Errno::ENOENT
    raise Missing, "there is no #{file} in #{folder}"
  end
end
