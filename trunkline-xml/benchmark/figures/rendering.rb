# frozen_string_literal: true

require "builder"
require "nokogiri"
require "ox"

# Documents by the builders themselves.
module Rendering
  OURS = Trunkline::XML::Builder
  SIZES = { large: "54 KB", small: "216 B" }.freeze
  BARS = { [:large, 2] => [40, 65], [:small, 2] => [30, 60], [:large, 0] => [25, 40], [:small, 0] => [25, 40] }.freeze

  module_function

  def run(report)
    SIZES.each_key { |document| [2, 0].each { |indent| measure(report, document, indent) } }
    report.figure("objects for each tag (54 KB, indent 2)", allocations_per_tag, "", bar: 2, at_most: true)
  end

  def measure(report, document, indent)
    ways = ways(document, indent)
    check(ways, document, indent)
    results = Measure.run(ways)
    ours = results["ours"]
    name = "#{SIZES[document]}, #{indent.zero? ? "no indent" : "indent 2"}"
    must, reach = BARS.fetch([document, indent])
    ratio = ->(peer) { results[peer].ratio_to(ours) }
    report.figure("#{name}: ours", ours.microseconds, "us")
    report.figure("#{name}: against Builder", ratio["builder"], "x", bar: must, reach: reach)
    report.figure("#{name}: against Nokogiri", ratio["nokogiri"], "x", bar: 13, reach: 20)
    report.figure("#{name}: against Ox", ratio["ox"], "x", bar: 1.1, reach: 1.7)
    report.figure("#{name}: against doing nothing", ours.ratio_to(results["nothing"]), "x its time", bar: 3, reach: 2,
                                                                                                     at_most: true)
  end

  def ways(document, indent)
    write = Documents::ForBuilder.method(document)
    {
      "builder" => -> { rendered(Builder::XmlMarkup.new(indent: indent), write) },
      "ours" => -> { rendered(OURS.new(indent: indent), write) },
      "nokogiri" => -> { nokogiri(document, indent) },
      "ox" => -> { ox(document, indent) },
      "nothing" => -> { write.call(NullBuilder.new) }
    }
  end

  def rendered(xml, write)
    write.call(xml)
    xml.target!
  end

  def nokogiri(document, indent)
    builder = Nokogiri::XML::Builder.new(encoding: "UTF-8") { |xml| Documents::ForNokogiri.public_send(document, xml) }
    format = Nokogiri::XML::Node::SaveOptions
    builder.to_xml(indent: indent, save_with: indent.zero? ? format::AS_XML : format::AS_XML | format::FORMAT)
  end

  def ox(document, indent)
    xml = Ox::Builder.new(indent: indent)
    Documents::ForOx.public_send(document, xml)
    xml.to_s
  end

  # Ours and Builder's to the byte; the others, which indent and quote in their way, as parsed documents.
  def check(ways, document, indent)
    expected = ways["builder"].call
    abort "ours is not Builder's output: #{document}, indent #{indent}" unless ways["ours"].call == expected

    %w[nokogiri ox].each do |peer|
      same = content(ways[peer].call) == content(expected)
      abort "#{peer}'s document is another than Builder's: #{document}, indent #{indent}" unless same
    end
  end

  def content(xml)
    Nokogiri::XML(xml, &:noblanks).root.canonicalize
  end

  def allocations_per_tag
    render = -> { rendered(OURS.new(indent: 2), Documents::ForBuilder.method(:large)) }
    tags = render.call.scan(/<\w/).size
    before = GC.stat(:total_allocated_objects)
    render.call
    (GC.stat(:total_allocated_objects) - before).fdiv(tags)
  end
end
