# frozen_string_literal: true

# The table of limits in SECURITY.md, made from the tables of docs/limits.md.
module SecurityLimits
  ROOT = File.expand_path("../..", __dir__)
  PAGE = File.join(ROOT, "SECURITY.md")
  MARKS = ["<!-- limits -->", "<!-- /limits -->"].freeze
  ROW = /^\| (`\w+`) \| ([^|]+) \| ([^|]+) \|/

  module_function

  # @return [String] the page with the current table
  def page
    before, rest = File.read(PAGE).split(MARKS.first)
    "#{before}#{MARKS.first}\n\n#{table}\n#{MARKS.last}#{rest.split(MARKS.last).last}"
  end

  # Rewrites links relative to the folder of SECURITY.md.
  def table
    rows = File.read(File.join(ROOT, "docs/limits.md")).scan(ROW)
    lines = rows.map { |cells| "| #{cells.join(" | ")} |\n".gsub("](", "](docs/") }
    "| limit | default | what it bounds |\n|---|---|---|\n#{lines.join}"
  end
end
