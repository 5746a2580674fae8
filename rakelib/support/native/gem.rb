# frozen_string_literal: true

require "fileutils"
require "rubygems/package"

# A precompiled gem: the gem's files without the C sources, and for each Ruby a folder with its extensions.
class NativeGem
  # Older versions of RubyGems install a gem for another libc, or do not recognise a platform of this name.
  RUBYGEMS = ">= 3.3.22"

  # gemspec: the path of the source gem's gemspec; processor: a NativeTarget::Processor; folder: where to assemble the
  # gem
  def initialize(gemspec, processor, folder)
    @source = File.dirname(gemspec)
    @spec = Gem::Specification.load(gemspec).dup
    @spec.platform = Gem::Platform.new([processor.name, "linux", "gnu"])
    @folder = File.join(folder, @spec.full_name)
    @added = []
    FileUtils.rm_rf(@folder)
  end

  # Adds a shared object for one Ruby; a library that is no extension (libtrunkline.so) is added once for all Rubies.
  #
  # feature: the name in extconf.rb's create_makefile: "trunkline/trunkline"
  def add(object, feature, ruby)
    name = File.basename(object)
    versioned = name.start_with?("lib") ? nil : ruby
    target = File.join("lib", File.dirname(feature), *versioned, name)
    return if @added.include?(target)

    FileUtils.mkdir_p(File.dirname(File.join(@folder, target)))
    FileUtils.cp(object, File.join(@folder, target))
    @added << target
  end

  # @param to [String] the folder for the gem file
  # @return [String] the path of the gem file
  def build(to)
    kept = @spec.files.reject { |file| file.start_with?("ext/") }
    kept.each do |file|
      FileUtils.mkdir_p(File.dirname(File.join(@folder, file)))
      FileUtils.cp(File.join(@source, file), File.join(@folder, file))
    end
    FileUtils.mkdir_p(to)
    adopt(kept + @added)
    Dir.chdir(@folder) { Gem::Package.build(@spec, false, true, File.join(to, @spec.file_name)) }
    File.join(to, @spec.file_name)
  end

  private

  def adopt(files)
    @spec.files = files
    @spec.extensions = []
    @spec.post_install_message = nil # no library was searched for: all are bundled
    newest = NativeTarget::RUBIES.last
    @spec.required_ruby_version = [">= #{NativeTarget::RUBIES.first}", "< #{newest.next}.dev"]
    @spec.required_rubygems_version = RUBYGEMS
  end
end
