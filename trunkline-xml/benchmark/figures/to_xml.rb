# frozen_string_literal: true

require "active_support/all"
require "trunkline/xml/to_xml"

# Array#to_xml of 150 records: Active Support's own with Builder, and ours.
module ToXmlFigure
  RECORDS = Array.new(150) do |index|
    { id: index, "first_name" => "Ann & Bob #{index}", price: 9.95 + index, active: index.even?, zip: nil,
      born_on: Date.new(1970, 1, 1) + index, updated_at: Time.at(index * 1000).utc, tags: %w[new sale] }
  end.freeze

  module_function

  def run(report)
    ways = { "active_support" => -> { original(RECORDS) }, "ours" => -> { RECORDS.to_xml } }
    abort "Array#to_xml is not the same" unless ways["active_support"].call == ways["ours"].call

    results = Measure.run(ways)
    report.figure("Array#to_xml of 150 records", results["active_support"].ratio_to(results["ours"]), "x", bar: 8)
  end

  # An option that ours does not know leaves the document to Active Support, for the records inside as well.
  def original(records)
    records.to_xml(original: true)
  end
end
