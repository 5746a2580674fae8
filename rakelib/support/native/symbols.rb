# frozen_string_literal: true

require "rubygems/package"
require "tmpdir"

# What the shared objects of a compiled gem need of the machine, and what they show to others.
class NativeSymbols
  SIZE = 6_000_000 # bytes of a gem
  GLIBC = Gem::Version.new("2.34") # the newest that may be needed: Debian 12, Ubuntu 22.04 and RHEL 9 have it
  LIBRARIES = /\A(libtrunkline\.so|libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.[12])\z/
  # Functions of the libraries inside, none of which may be seen outside.
  HIDDEN = /\A(SSL_|X509_|EVP_|CRYPTO_|OPENSSL_|nghttp2_|ZSTD_|Brotli|(in|de)flate(Init|End|\z))/

  def initialize(file)
    @file = file
  end

  # Raises when something is not as it must be.
  def check
    raise "#{@file} has #{File.size(@file)} bytes" if File.size(@file) > SIZE

    Dir.mktmpdir do |folder|
      Gem::Package.new(@file).extract_files(folder)
      objects = Dir["#{folder}/lib/**/*.so"]
      raise "#{@file} has no shared object" if objects.empty?

      objects.each { |object| examine(object) }
      puts "#{File.basename(@file)}: #{objects.size} shared objects, #{File.size(@file) / 1000} kB"
    end
  end

  private

  def examine(object)
    needed = read("readelf", "--dynamic", object).scan(/NEEDED.*\[(.+)\]/).flatten
    raise "#{object} needs #{needed}" unless needed.all?(LIBRARIES)

    symbols = read("nm", "--dynamic", object)
    newest = symbols.scan(/@GLIBC_([\d.]+)/).flatten.map { |version| Gem::Version.new(version) }.max
    raise "#{object} needs glibc #{newest}" if newest && newest > GLIBC

    shown = symbols.scan(/ [A-TV-Z] (\w+)/).flatten.grep(HIDDEN)
    raise "#{object} shows #{shown.first(3)}" unless shown.empty?
  end

  def read(*command) = IO.popen(command, &:read)
end
