# frozen_string_literal: true

require "json"

# Writes the figures in a README from the kept results of the benchmarks. The text between <!-- figures: NAME --> and
# <!-- /figures --> is made from benchmark/readme/NAME.md, where
# - {{FILE: figure's name}} is a figure of benchmark/results/FILE.json, with its spread, and with BUSY_MARK when the
#   machine was busy or noisy; FILE is a benchmark's name, and BENCHMARK_HOST is its run on another host,
# - {{host: FILE}} is the processor and the day of that run,
# - {{environment: FILE, ...}} lists the machines and versions of these files,
# - {{machines: FILE, ...}} lists the kinds of machines of these runs,
# - {{busy: FILE, ...}} says how busy the machines were during these runs,
# - {{busy_runs: FILE, ...}} explains BUSY_MARK and names the runs that have it.
# A figure that has not been measured yet is replaced by "not measured", and listed by #missing.
class Figures
  BLOCK = %r{(<!-- figures: ([\w-]+) -->\n).*?(<!-- /figures -->)}m
  PLACEHOLDER = /\{\{(\w+): (.+?)\}\}/
  ABSENT = "not measured"
  BUSY_MARK = "†"
  BUSY_LOAD = 0.3 # load average before a run whose result does not say whether the machine was busy

  # Raised when a template does not exist; the message names it.
  class Missing < StandardError; end

  # @return [Array<String>] files and figures that templates name but the results lack
  attr_reader :missing

  def initialize(results:, templates:)
    @results = results
    @templates = templates
    @files = {}
    @missing = []
  end

  # @param page [String] the text of a README
  # @return [String] the page with the figures of the results
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
      case file
      when "environment" then environment(what.split(", "))
      when "host" then host(environment_of(what))
      when "machines" then machines(what.split(", "))
      when "busy" then busy(what.split(", "))
      when "busy_runs" then busy_runs(what.split(", "))
      else figure(file, what)
      end
    end
  end

  def figure(file, name)
    figure = results(file)&.fetch("figures")&.find { |each| each.fetch("name") == name }
    return absent("#{file}.json: #{name}") unless figure

    value, spread, unit = figure.values_at("value", "spread", "unit")
    unit = unit.start_with?("x") ? "x" : " #{unit}"
    around = " (#{spread.map { |edge| short(edge) }.join(" to ")})" if spread
    "#{short(value)}#{unit}#{around}#{" #{BUSY_MARK}" if busy?(file)}"
  end

  def environment(files)
    files.map do |file|
      "- #{task(file)}: #{measured_on(environment_of(file))}#{"; the machine was busy" if busy?(file)}"
    end.join("\n")
  end

  def task(file) = "`bench:#{file[/[^_]+/]}`"

  def host(environment)
    environment ? "#{environment.fetch("machine").fetch("cpu")}, #{environment.fetch("date")[/\S+/]}" : ABSENT
  end

  def measured_on(environment)
    return ABSENT unless environment

    machine = environment.fetch("machine")
    versions = environment.fetch("versions").except("compiler").map { |name, version| version_of(name, version) }
    commit = environment["commit"] && "commit #{environment["commit"]}"
    [environment.fetch("date"), *commit, "#{machine.fetch("cores")} cores, #{machine.fetch("cpu")}",
     machine.fetch("kernel"), versions.join(", "), "load #{loads(environment).join(" before, ")} after"].join("; ")
  end

  # @return [String] such as "2 cores of AMD EPYC (`bench:real`) and on 2 cores of ...": each kind with its runs
  def machines(files)
    runs = files.select { |file| environment_of(file) }
      .group_by { |file| environment_of(file).fetch("machine").values_at("cores", "cpu") }
    kinds = runs.map { |(cores, cpu), names| "#{cores} cores of #{cpu} (#{names.map { |name| run(name) }.join(", ")})" }
    kinds.any? ? kinds.join(" and on ") : ABSENT
  end

  def run(file) = file.include?("_") ? "the second run of #{task(file)}" : task(file)

  # @return [String] a sentence
  def busy_runs(files)
    runs = files.select { |file| busy?(file) }
    return "No machine was busy before a run." if runs.empty?

    loads = runs.map { |file| "#{run(file)} (load #{loads(environment_of(file)).first})" }
    "#{BUSY_MARK} marks the figures of runs on a machine that was busy when the run began: #{loads.join(", ")}."
  end

  # Whether a result says that the machine was busy or too noisy.
  def busy?(file)
    return false unless (environment = environment_of(file))

    results(file)["state"] == "noisy" ||
      environment.fetch("busy_before") { environment.fetch("load_before").first.to_f > BUSY_LOAD }
  end

  # The extremes over all runs.
  def busy(files)
    environments = files.filter_map { |file| environment_of(file) }
    return ABSENT if environments.empty?

    parts = ["a load average of #{environments.flat_map { |environment| loads(environment) }.minmax.join(" to ")}"]
    { "foreign_cpu" => "other programs", "stolen_cpu" => "the host" }.each do |name, who|
      shares = environments.filter_map { |environment| environment[name] }
      parts << "up to #{(shares.max * 100).round} % of the CPU taken by #{who}" if shares.any?
    end
    parts.join(", ")
  end

  def loads(environment) = environment.values_at("load_before", "load_after").map(&:first)

  # Name and number of a version; the given text may contain the name already, and much more.
  def version_of(name, version)
    (version.downcase.start_with?(name) ? version : "#{name} #{version}")[/\A\S+ \S+/]
  end

  # Two significant digits of a figure above 2, three below.
  def short(number)
    return number.to_s if number.is_a?(Integer)

    decimals = { 10.. => 0, 2.. => 1 }.find { |range, _| range.cover?(number.abs) }&.last || 2
    format("%.#{decimals}f", number)
  end

  def environment_of(file) = results(file)&.fetch("environment")

  # @return [Hash, nil] nil when there is no such file
  def results(file)
    @files.fetch(file) do
      path = File.join(@results, "#{file}.json")
      absent("#{file}.json") unless File.exist?(path)
      @files[file] = (JSON.parse(File.read(path)) if File.exist?(path))
    end
  end

  def absent(what)
    @missing << what
    ABSENT
  end

  def read(folder, file)
    File.read(File.join(folder, file))
  rescue Errno::ENOENT
    raise Missing, "there is no #{file} in #{folder}"
  end
end
