# frozen_string_literal: true

require_relative "support/figures"

# The READMEs that have figures, and what these become.
FIGURES = lambda do
  figures = Figures.new(results: "#{ROOT}/benchmark/results", templates: "#{ROOT}/benchmark/readme")
  FileList["README.md", "*/README.md"].to_h { |page| [page, figures.update(File.read(page))] }
    .select { |page, _| File.read(page).match?(Figures::BLOCK) }
rescue Figures::Missing => error
  abort error.message
end

desc "Write the READMEs' figures from benchmark/results"
task(:figures) { FIGURES.call.each { |page, text| File.write(page, text) } }

namespace :figures do
  desc "Are the READMEs' figures those of benchmark/results?"
  task :check do
    pages = FIGURES.call
    abort "no README has figures" if pages.empty?
    stale = pages.reject { |page, text| File.read(page) == text }.keys
    abort "not as in benchmark/results: #{stale.join(", ")}; rake figures writes them" unless stale.empty?
    puts "#{pages.size} passed, 0 failed"
  end
end
