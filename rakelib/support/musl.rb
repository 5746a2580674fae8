# frozen_string_literal: true

require "fileutils"
require "rbconfig"

# Debian's musl-gcc searches only musl's headers, in place of glibc's. The headers of the libraries, and of the kernel,
# are the same with both: they are linked into a separate folder.
class Musl
  KERNEL = %w[linux asm-generic].freeze
  LIBRARIES = %w[openssl nghttp2 brotli zlib.h zconf.h zstd.h zstd_errors.h].freeze
  # Headers that Debian keeps in the folder of the processor's architecture.
  OF_PROCESSOR = %w[asm openssl].freeze
  private_constant :KERNEL, :LIBRARIES, :OF_PROCESSOR

  def self.here? = File.executable?("/usr/bin/musl-gcc")

  def initialize(folder)
    @folder = folder
  end

  # @return [String] the command that compiles
  def compiler
    processor = "/usr/include/#{RbConfig::CONFIG.fetch("host_cpu")}-linux-gnu"
    folders = [linked("all", "/usr/include", KERNEL + LIBRARIES), linked("processor", processor, OF_PROCESSOR)]
    ["musl-gcc", *folders.map { |folder| "-isystem #{folder}" }].join(" ")
  end

  private

  def linked(name, from, names)
    File.join(@folder, name).tap do |folder|
      FileUtils.mkdir_p(folder)
      names.each do |header|
        link = File.join(folder, header)
        File.symlink(File.join(from, header), link) unless File.symlink?(link)
      end
    end
  end
end
