# frozen_string_literal: true

require "uri"

# Requirements of RubyGems, and of readers of a gem's pages, on a gem apart from its code.
class PackageCheck
  FILES = %w[LICENSE README.md CHANGELOG.md .yardopts].freeze
  URIS = %w[source_code_uri documentation_uri changelog_uri].freeze
  LINK = /\]\((?<target>[^)\s]+)\)/

  # gemspec: the gemspec's path
  def initialize(gemspec)
    @spec = Gem::Specification.load(gemspec) || raise("#{gemspec} cannot be loaded")
    @folder = File.dirname(gemspec)
  end

  # @return [Array<String>] faults, each as "gem: what"
  def faults = [*missing_files, *metadata, *links].map { |fault| "#{@spec.name}: #{fault}" }

  private

  def missing_files
    links = @spec.files.select { |file| File.symlink?(File.join(@folder, file)) }
    [*(FILES - @spec.files).map { |file| "#{file} is not packed" },
     *links.map { |file| "#{file} is a symbolic link" },
     *("LICENSE is another one than the project's" unless same_licence?)]
  end

  def same_licence?
    file = File.join(@folder, "LICENSE")
    File.exist?(file) && File.read(file) == File.read(File.join(@folder, "../LICENSE"))
  end

  def metadata
    wrong = URIS.reject { |name| URI(@spec.metadata.fetch(name, "")).is_a?(URI::HTTPS) }
    wrong << "rubygems_mfa_required" unless @spec.metadata["rubygems_mfa_required"] == "true"
    wrong << "license" unless @spec.license == "MIT"
    wrong.map { |name| "#{name} is missing" }
  end

  # A page may be read where there is only the gem: every link leads to a file of the gem, or is absolute. An absolute
  # link to the gem's own pages must lead to one of its files as well.
  def links
    own = %r{\Ahttps://www\.rubydoc\.info/gems/#{@spec.name}(?:/[\d.]+)?/file/}
    @spec.files.grep(/\.md\z/).flat_map do |page|
      File.read(File.join(@folder, page)).scan(LINK).flatten.filter_map do |target|
        path = target.sub(/#.*\z/, "")
        next if path.empty? || (path.match?(%r{\Ahttps?://}) && !path.match?(own))

        "#{page} links to #{target}, which is not packed" unless packed?(page, path, own)
      end
    end
  end

  def packed?(page, path, own)
    file = path.match?(own) ? path.sub(own, "") : File.expand_path(path, "/#{File.dirname(page)}").delete_prefix("/")
    @spec.files.any? { |name| name == file || name.start_with?("#{file.chomp("/")}/") }
  end
end
