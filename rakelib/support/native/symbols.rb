# frozen_string_literal: true

require "rubygems/package"
require "tmpdir"

# The libraries and symbols that the shared objects of a compiled gem need, and the symbols that they export.
class NativeSymbols
  SIZE = 6_000_000 # largest size of a gem in bytes
  GLIBC = Gem::Version.new("2.34") # the newest that may be required: Debian 12, Ubuntu 22.04 and RHEL 9 have it
  LIBRARIES = /\A(libtrunkline\.so|libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.[12])\z/
  # Functions of the bundled libraries, none of which may be exported.
  HIDDEN = /\A(SSL_|X509_|EVP_|CRYPTO_|OPENSSL_|nghttp2_|ZSTD_|Brotli|(in|de)flate(Init|End|\z))/

  def initialize(file)
    @file = file
  end

  # Raises when a requirement is not met.
  def check
    raise "#{@file} has #{File.size(@file)} bytes" if File.size(@file) > SIZE

    Dir.mktmpdir do |folder|
      Gem::Package.new(@file).extract_files(folder)
      objects = Dir["#{folder}/lib/**/*.so"]
      raise "#{@file} has no shared object" if objects.empty?

      objects.each { |object| check_object(object) }
      puts "#{File.basename(@file)}: #{objects.size} shared objects, #{File.size(@file) / 1000} kB"
    end
  end

  private

  def check_object(object)
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
