# frozen_string_literal: true

require_relative "lib/trunkline/bulk/version"

Gem::Specification.new do |spec|
  spec.name = "trunkline-bulk"
  spec.version = Trunkline::Bulk::VERSION
  spec.authors = ["The Trunkline authors"]
  spec.summary = "Millions of HTTP requests: on one machine, or as jobs on the queue that an application has"
  spec.description = <<~TEXT
    What does not fit into one call or one process: crawls, exports, backfills, webhooks. A source of any length is cut
    into slices, whose state is in a database: a run goes on where it was after anything has been killed, no item is lost,
    and each is recorded once. On one machine by default, as jobs of ActiveJob with one line.
  TEXT
  spec.homepage = "https://rubygems.org/gems/trunkline-bulk"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  pages = "https://www.rubydoc.info/gems/#{spec.name}/#{spec.version}"
  spec.metadata = {
    "source_code_uri" => "https://github.com/trunkline-ruby/trunkline",
    "documentation_uri" => pages,
    "changelog_uri" => "#{pages}/file/CHANGELOG.md",
    "rubygems_mfa_required" => "true"
  }

  spec.files = Dir.glob("{exe,lib,sig}/**/*", base: __dir__).select { |path| File.file?(File.join(__dir__, path)) } +
               Dir.glob(["LICENSE", ".yardopts", "{README,CHANGELOG}.md"], base: __dir__)
  spec.bindir = "exe"
  spec.executables = ["trunkline-bulk"]
  spec.require_paths = ["lib"]

  spec.add_dependency "sqlite3", ">= 1.7", "< 3"
  spec.add_dependency "trunkline", "~> #{Trunkline::Bulk::VERSION}"
end
