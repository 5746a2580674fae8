# frozen_string_literal: true

namespace :docs do
  desc "Run every Ruby example of the READMEs, CONTRIBUTING.md and docs/ against a local server"
  task test: :compile do
    require_relative "support/snippets"

    pages = FileList["*.md", "trunkline*/README.md", "docs/**/*.md", "trunkline-*/docs/**/*.md"]
    ran = Snippets.with_server do |url|
      pages.map { |page| Snippets.new(page) }.sum do |snippets|
        snippets.run(url: url, ruby: [RbConfig.ruby, "-w"]).tap { |count| puts "#{snippets.page}: #{count} examples" }
      end
    end
    abort "no Ruby example in any page" if ran.zero?
    puts "#{ran} passed, 0 failed"
  end
end
