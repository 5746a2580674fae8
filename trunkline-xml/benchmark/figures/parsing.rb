# frozen_string_literal: true

require "active_support"
require "active_support/xml_mini"
require "nokogiri"

# XmlMini.parse of the large document by its backends.
module Parsing
  BACKENDS = %w[REXML NokogiriSAX Trunkline].freeze

  module_function

  def run(report)
    builder = Trunkline::XML::Builder.new(indent: 2)
    Documents::ForBuilder.large(builder)
    xml = builder.target!
    ways = BACKENDS.to_h { |backend| [backend, -> { parse(backend, xml) }] }
    abort "the backends do not agree" unless ways.values.map { |way| mended(way.call) }.uniq.size == 1

    results = Measure.run(ways)
    ours = results["Trunkline"]
    title = "XmlMini.parse of 54 KB"
    report.figure("#{title}: ours", ours.microseconds, "us")
    report.figure("#{title}: against REXML", results["REXML"].ratio_to(ours), "x", bar: 14, reach: 25)
    report.figure("#{title}: against Nokogiri's SAX", results["NokogiriSAX"].ratio_to(ours), "x", bar: 1.2, reach: 2)
  end

  # Nokogiri's SAX backend leaves &amp; in an attribute as &#38;.
  def mended(value)
    case value
    when Hash then value.transform_values { |inner| mended(inner) }
    when Array then value.map { |inner| mended(inner) }
    else value.gsub("&#38;", "&")
    end
  end

  def parse(backend, xml)
    ActiveSupport::XmlMini.with_backend(backend) { ActiveSupport::XmlMini.parse(xml) }
  end
end
