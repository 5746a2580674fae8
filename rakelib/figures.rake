# frozen_string_literal: true

require_relative "support/figures"

# Returns the READMEs that have figures, with their updated texts; and the names of figures not measured yet.
FIGURES = lambda do
  figures = Figures.new(results: "#{ROOT}/benchmark/results", templates: "#{ROOT}/benchmark/readme")
  pages = FileList["README.md", "*/README.md"].to_h { |page| [page, figures.update(File.read(page))] }
  [pages.select { |page, _| File.read(page).match?(Figures::BLOCK) }, figures.missing]
rescue Figures::Missing => error
  abort error.message
end

desc "Write the READMEs' figures from benchmark/results"
task :figures do
  pages, missing = FIGURES.call
  pages.each { |page, text| File.write(page, text) }
  warn "Not measured:", *missing.map { |name| "  #{name}" } if missing.any?
end

namespace :figures do
  desc "Are the READMEs' figures those of benchmark/results?"
  task :check do
    pages, missing = FIGURES.call
    abort "no README has figures" if pages.empty?
    stale = pages.reject { |page, text| File.read(page) == text }.keys
    abort "not as in benchmark/results: #{stale.join(", ")}; rake figures writes them" unless stale.empty?
    abort "not measured: #{missing.join(", ")}; rake bench:... measures it" if missing.any?
    puts "#{pages.size} passed, 0 failed"
  end
end
