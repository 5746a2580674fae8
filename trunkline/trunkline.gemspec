# frozen_string_literal: true

require_relative "lib/trunkline/version"

Gem::Specification.new do |spec|
  spec.name = "trunkline"
  spec.version = Trunkline::VERSION
  spec.authors = ["The Trunkline authors"]
  spec.summary = "An HTTP client with an engine of its own: fast, exact, and never twice behind your back"
  spec.description = <<~TEXT
    HTTP for Ruby services over connections that stay open: an engine in C that releases the GVL, a deadline for
    every call that holds, errors that say what the server can have seen, and nothing sent twice unless asked.
  TEXT
  spec.homepage = "https://rubygems.org/gems/trunkline"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  pages = "https://www.rubydoc.info/gems/#{spec.name}/#{spec.version}"
  spec.metadata = {
    "source_code_uri" => "https://github.com/trunkline-ruby/trunkline",
    "documentation_uri" => pages,
    "changelog_uri" => "#{pages}/file/CHANGELOG.md",
    "rubygems_mfa_required" => "true"
  }

  spec.files = Dir.glob("{lib,sig}/**/*.{rb,rbs,erb}", base: __dir__) +
               Dir.glob("{exe/*,ext/**/*.{c,h,rb}}", base: __dir__) +
               Dir.glob(["LICENSE", ".yardopts", "{README,CHANGELOG}.md", "docs/{,decisions/}*.md", "docs/images/*"],
                        base: __dir__)
  # RubyGems shows what extconf.rb prints only when it fails.
  spec.post_install_message = "trunkline has HTTP/2, br and zstd where libnghttp2, libbrotli and libzstd were found: " \
                              "`trunkline doctor` tells what was built in, and what to do."
  spec.extensions = ["ext/trunkline/extconf.rb"]
  spec.bindir = "exe"
  spec.executables = ["trunkline"]
  spec.require_paths = ["lib"]

  spec.add_dependency "mini_mime", "~> 1.1" # loaded for the content types of multipart: alone
  spec.add_dependency "simpleidn", "~> 0.2" # loaded for internationalised host names alone
end
