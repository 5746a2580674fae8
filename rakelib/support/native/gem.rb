# frozen_string_literal: true

require "fileutils"
require "rubygems/package"

# A gem that is compiled already: the gem's files without C, and for each Ruby a folder with its extensions.
class NativeGem
  # Older ones take a gem for another libc, or do not find a platform of this name.
  RUBYGEMS = ">= 3.3.22"

  # gemspec: the path of the gem's own; processor: a NativeTarget::Processor; folder: where to put it together
  def initialize(gemspec, processor, folder)
    @source = File.dirname(gemspec)
    @spec = Gem::Specification.load(gemspec).dup
    @spec.platform = Gem::Platform.new([processor.name, "linux", "gnu"])
    @folder = File.join(folder, @spec.full_name)
    @added = []
    FileUtils.rm_rf(@folder)
  end

  # Adds a shared object for one Ruby; what is no extension (libtrunkline.so) is the same for all.
  #
  # feature: "trunkline/trunkline", as extconf.rb's create_makefile names it
  def add(object, feature, ruby)
    name = File.basename(object)
    versioned = name.start_with?("lib") ? nil : ruby
    target = File.join("lib", File.dirname(feature), *versioned, name)
    return if @added.include?(target)

    FileUtils.mkdir_p(File.dirname(File.join(@folder, target)))
    FileUtils.cp(object, File.join(@folder, target))
    @added << target
  end

  # @param to [String] the folder of the gem's file
  # @return [String] its path
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
    @spec.post_install_message = nil # nothing was looked for: all is inside
    newest = NativeTarget::RUBIES.last
    @spec.required_ruby_version = [">= #{NativeTarget::RUBIES.first}", "< #{newest.next}.dev"]
    @spec.required_rubygems_version = RUBYGEMS
  end
end
