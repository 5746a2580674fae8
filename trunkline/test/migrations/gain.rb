# frozen_string_literal: true

require "fileutils"
require "json"
require "minitest"
require "net/http"
require "tmpdir"
require_relative "../support/free_port"
require_relative "../support/nginx"
require_relative "migration"

# Measures what an application gains by migrating: the lab's load on it, before and after, while it requests four
# products from an nginx over TLS for each request.
class Gain
  SECONDS = Integer(ENV.fetch("SECONDS", "4"))
  LAB = ["ruby", "-I#{Migration::ROOT}/trunkline/lib", "-I#{Migration::ROOT}/trunkline-lab/lib",
         "#{Migration::ROOT}/trunkline-lab/exe/trunkline-lab"].freeze
  # The divisor of each figure: latency is read in us and reported in ms.
  FIGURES = { "requests/s" => 1, "latency, 50 %" => 1000, "latency, 99 %" => 1000 }.freeze
  HEAD = ["moved from", "specs", "requests/s", "times as many (95 %)", "latency, 50 %, ms", "latency, 99 %, ms"].freeze
  ORDER = { "id" => 1, "names" => (1..4).map { |id| "product #{id}" } }.freeze
  PAGE = File.join(Migration::ROOT, "docs/switching.md")
  PLACE = %r{^<!-- migrations -->\n\K.*?(?=^<!-- /migrations -->$)}m

  Measured = Struct.new(:specs, :output, :path, keyword_init: true) do
    def green?
      specs["example_count"].positive? && specs.values_at(*Migration::BAD).all?(&:zero?)
    end

    def results = @results ||= JSON.parse(File.read(path))

    def figures
      values = results["figures"].to_h { |figure| [figure["name"], figure["value"]] }
      FIGURES.map { |name, unit| (values.fetch(name) / unit).round(unit == 1 ? 0 : 1) }
    end
  end

  # @param application [Migration]
  def initialize(application)
    @application = application
  end

  # @return [Measured]
  def measure
    specs, output = @application.specs
    path = File.join(@application.folder, "load-#{Time.now.to_f}.json")
    @application.serve(catalog, "SSL_CERT_FILE" => TestCA.ca_file) { |url| load("#{url}/orders/1", path) }
    Measured.new(specs: specs, output: output, path: path)
  end

  # Prints the results of the specs, and the lab's comparison of the two runs.
  # @return [Hash] "green": whether the specs passed, before and after; the lab's figures before and after; "gain": the
  #   ratio and its interval; and the lab's report on the machine
  def compare(client, before, after)
    puts "== #{client}"
    [before, after].each { |one| puts one.green? ? "specs green" : one.output }
    path = "#{after.path}-compared"
    system(*LAB, "compare", "--json", path, before.path, after.path, exception: true)
    gain = JSON.parse(File.read(path))["data"].fetch("requests/s")
    { "green" => [before, after].all?(&:green?), "before" => before.figures, "after" => after.figures,
      "gain" => [gain["ratio"], *gain["interval"]], "environment" => after.results["environment"],
      "noise" => [before, after].flat_map { |one| one.results.dig("noise", "reasons") } }
  end

  # Writes the table in docs/switching.md.
  # @param results [Hash{String => Hash}] the results of compare, by client
  def self.write(results)
    rows = results.map do |client, result|
      figures = result.values_at("before", "after").transpose.map { |pair| pair.join(" → ") }
      ratio, low, high = result["gain"].map { |value| value.round(1) }
      figures.insert(1, "#{ratio} (#{low} to #{high})")
      "| #{[client, result["green"] ? "green → green" : "red", *figures].join(" | ")} |"
    end
    table = ["| #{HEAD.join(" | ")} |", "|---" * HEAD.size + "|", *rows].join("\n")
    File.write(PAGE, File.read(PAGE).sub(PLACE) { "\n#{table}\n\n#{machine(results.values)}\n\n" })
  end

  # @return [String] the machine of the measurement, and whether the lab calls it a result
  def self.machine(results)
    date, machine = results.last["environment"].values_at("date", "machine")
    noise = results.flat_map { |result| result["noise"] }
    verdict = noise.empty? ? "The lab calls it a result." : "The lab says that it is not a result: #{noise.first}."
    "#{date}, #{machine["cores"]} cores of #{machine["cpu"]}. #{verdict}"
  end
  private_class_method :machine

  private

  # Loads for a second before measuring, so that code is loaded and connections are open.
  def load(url, path)
    raise "the application answers something else" unless JSON.parse(Net::HTTP.get(URI(url))) == ORDER

    command = [*LAB, "load", "-c", "3", "--calls", "repeated", "--i-own-this-server", "--accept-noise", "--quiet"]
    [["-z", "1"], ["-z", SECONDS.to_s, "--json", path]].each do |options|
      system(*command, *options, url, out: File::NULL, exception: true)
    end
  end

  def catalog
    folder = File.join(Nginx.instance.directory, "documents", "products")
    FileUtils.mkdir_p(folder)
    (1..4).each { |id| File.write(File.join(folder, "#{id}.json"), JSON.generate(name: "product #{id}")) }
    Nginx.url("", :tls)
  end
end
