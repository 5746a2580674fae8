# frozen_string_literal: true

require_relative "lib/trunkline/xml/version"

Gem::Specification.new do |spec|
  spec.name = "trunkline-xml"
  spec.version = Trunkline::XML::VERSION
  spec.authors = ["The Trunkline authors"]
  spec.summary = "Builder::XmlMarkup in C, byte for byte, with Rails on top of it"
  spec.description = <<~TEXT
    The XML builder that Rails and many gems write with, in C: the same calls, the same bytes, the same exceptions.
    With it a handler for .builder templates, Hash#to_xml and Array#to_xml in one pass, an XmlMini backend on libxml2
    that is safe by default, documents sent while they are written, and a strict mode that says what was meant.
  TEXT
  spec.homepage = "https://rubygems.org/gems/trunkline-xml"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  pages = "https://www.rubydoc.info/gems/#{spec.name}/#{spec.version}"
  spec.metadata = {
    "source_code_uri" => "https://github.com/trunkline-ruby/trunkline",
    "documentation_uri" => pages,
    "changelog_uri" => "#{pages}/file/CHANGELOG.md",
    "rubygems_mfa_required" => "true"
  }

  spec.files = Dir.glob("{lib,sig}/**/*.{rb,rbs}", base: __dir__) +
               Dir.glob("ext/**/*.{c,h,rb}", base: __dir__) +
               Dir.glob(["LICENSE", ".yardopts", "{README,CHANGELOG}.md", "docs/*.md"], base: __dir__)
  spec.extensions = ["ext/trunkline_xml/extconf.rb", "ext/trunkline_xml_parser/extconf.rb"]
  spec.require_paths = ["lib"]
end
