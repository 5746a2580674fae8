# frozen_string_literal: true

require_relative "lib/trunkline/lab/version"

Gem::Specification.new do |spec|
  spec.name = "trunkline-lab"
  spec.version = Trunkline::Lab::VERSION
  spec.authors = ["The Trunkline authors"]
  spec.summary = "A measuring lab for HTTP from Ruby: the right concurrency, kept connections, timeouts, safety, XML"
  spec.description = <<~TEXT
    A command line that measures on your own machine what HTTP costs from Ruby: which concurrency a server takes best,
    what kept connections are worth, how exact timeouts are and what each client does behind your back; beside every
    client that is installed, with its environment, its spread, and a page of charts to show.
  TEXT
  spec.homepage = "https://rubygems.org/gems/trunkline-lab"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  pages = "https://www.rubydoc.info/gems/#{spec.name}/#{spec.version}"
  spec.metadata = {
    "source_code_uri" => "https://github.com/trunkline-ruby/trunkline",
    "documentation_uri" => pages,
    "changelog_uri" => "#{pages}/file/CHANGELOG.md",
    "rubygems_mfa_required" => "true"
  }

  spec.files = Dir.glob("{exe,lib}/**/*", base: __dir__).select { |path| File.file?(File.join(__dir__, path)) } +
               Dir.glob(["LICENSE", ".yardopts", "{README,CHANGELOG}.md"], base: __dir__)
  spec.bindir = "exe"
  spec.executables = ["trunkline-lab"]
  spec.require_paths = ["lib"]

  spec.add_dependency "HDRHistogram", "~> 0.1"
  spec.add_dependency "protocol-hpack", "~> 1.5"
  spec.add_dependency "puma", ">= 6.0", "< 9"
  spec.add_dependency "rack", ">= 2.2", "< 4"
  spec.add_dependency "terminal-table", "~> 4.0"
  spec.add_dependency "trunkline", "~> #{Trunkline::Lab::VERSION}"
  spec.add_dependency "tty-progressbar", "~> 0.18"
  spec.add_dependency "unicode_plot", "~> 0.0.5"
end
