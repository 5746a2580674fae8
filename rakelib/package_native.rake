# frozen_string_literal: true

require_relative "support/native/target"
require_relative "support/native/toolchain"
require_relative "support/native/foreign_image"

# The images in which the compiled gems of each architecture are tried; qemu runs the Rubies of those releases that
# debootstrap can unpack.
NATIVE_IMAGES = {
  "x86_64" => [Image.new("bookworm"), Image.new("noble", archive: Image::UBUNTU), Image.new("trixie"),
               Image.new("sid", ruby: "ruby3.4", extra_suite: "experimental")],
  "aarch64" => [ForeignImage.new("bookworm", ruby: "ruby3.1"), ForeignImage.new("trixie", ruby: "ruby3.3")]
}.freeze
NATIVE_GEMS = %w[trunkline trunkline-xml].freeze

namespace :package do
  desc "Build the compiled gems into pkg/native (root; a chroot is built once)"
  task native: "native:toolchain" do
    require_relative "support/native/gem"

    toolchain = Toolchain.new
    toolchain.copy_checkout(ROOT)
    NATIVE_GEMS.product(NativeTarget::PROCESSORS) do |name, processor|
      native = NativeGem.new("#{ROOT}/#{name}/#{name}.gemspec", processor, "#{ROOT}/tmp/native")
      NativeTarget::RUBIES.product(Dir["#{ROOT}/#{name}/ext/*/extconf.rb"]) do |ruby, extconf|
        feature = File.read(extconf)[/create_makefile\("(.+)"\)/, 1]
        extension = File.dirname(extconf).delete_prefix("#{ROOT}/")
        made = toolchain.compile(extension, NativeTarget.new(ruby, processor))
        made.each { |object| native.add(object, feature, ruby) }
      end
      file = native.build("#{PACKAGES}/native")
      puts format("%<name>s: %<size>.1f MB", name: File.basename(file), size: File.size(file) / 1e6)
    end
  end

  namespace :native do
    desc "Build the chroot with the compilers, if it is not there yet"
    task(:toolchain) { Toolchain.new.build }

    desc "Check the compiled gems in pkg/native, and try them where there is no compiler (IMAGES=empty-bookworm)"
    task :test do
      require_relative "support/native/symbols"

      NativeTarget::PROCESSORS.each do |processor|
        gems = Dir["#{PACKAGES}/native/*-#{processor.name}-linux-gnu.gem"]
        abort "rake package:native comes first" if gems.empty?
        gems.each { |file| NativeSymbols.new(file).check }
        needed = package_dependencies.map(&:cache_file).grep(/mini_mime|simpleidn/)
        NATIVE_IMAGES.fetch(processor.name).each do |image|
          next unless ENV.fetch("IMAGES", image.name).split(",").include?(image.name)

          image.build
          image.try(gems + needed)
        end
      end
    end
  end
end
