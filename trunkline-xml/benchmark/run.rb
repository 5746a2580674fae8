# frozen_string_literal: true

# `rake bench:xml`: trunkline-xml beside its peers. Every output is compared before anything is timed; times are of
# CPU, interleaved, medians (support/measure.rb). Writes the results to benchmark/results/xml.{json,md}.

ENV["BUNDLE_GEMFILE"] = File.expand_path("Gemfile", __dir__)
unless system("bundle", "check", out: File::NULL, err: File::NULL)
  system("bundle", "install", "--quiet") || abort("the peers' gems could not be installed")
end
require "bundler/setup"

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "rails/version"
require "trunkline/xml"
%w[documents measure null_builder report].each { |name| require_relative "support/#{name}" }
%w[rendering templates to_xml parsing requests].each { |name| require_relative "figures/#{name}" }

abort "the extension is not there: rake xml:compile" unless Trunkline::XML.native?

only = ENV.fetch("BENCH_ONLY", "rendering,templates,to_xml,parsing,requests").split(",")
report = Report.new(File.expand_path("../../benchmark/results", __dir__))
{ "rendering" => Rendering, "templates" => Templates, "to_xml" => ToXmlFigure, "parsing" => Parsing,
  "requests" => Requests }.slice(*only).each_value { |figure| figure.run(report) }
report.write if only.size == 5
puts report.markdown
exit(1) unless report.holds?
