# frozen_string_literal: true

# The Ruby and the processor for which an extension is compiled. toolchain.sh has put the headers and the rbconfig.rb of
# that Ruby below /targets of the chroot.
class NativeTarget
  # name: as in a gem's platform; debian: Debian's name of the processor; triplet: the prefix of its compiler's name
  Processor = Struct.new(:name, :debian, :triplet)
  PROCESSORS = [
    Processor.new("x86_64", "amd64", "x86_64-linux-gnu"),
    Processor.new("aarch64", "arm64", "aarch64-linux-gnu")
  ].freeze
  RUBIES = %w[3.1 3.2 3.3 3.4].freeze

  attr_reader :ruby, :processor

  # @param ruby [String] "3.4"
  # @param processor [Processor]
  def initialize(ruby, processor)
    @ruby = ruby
    @processor = processor
  end

  def name = "ruby-#{ruby}-#{processor.debian}"

  # @return [Array<String>] arguments for the chroot's ruby that make its mkmf configure for this target
  def ruby_options = ["--disable-gems", "-I/targets/#{name}"]

  # Writes the rbconfig.rb that the chroot's Ruby, which has another version, reads instead of its own.
  #
  # @param root [String] the path of the chroot
  def adopt(root)
    top = "/targets/#{name}/usr"
    text = File.read("#{root}#{top}/lib/#{processor.triplet}/ruby/#{ruby}.0/rbconfig.rb")
    text = text.sub(/^ *RUBY_VERSION\.start_with\?.*\n.*raise.*\n/, "").sub(/TOPDIR = .*/, "TOPDIR = #{top.dump}")
    text = text.sub(/(?=^ *MAKEFILE_CONFIG = \{\})/, "CONFIG.update(#{settings.inspect})\n")
    File.write("#{root}/targets/#{name}/rbconfig.rb", text)
  end

  private

  # These settings replace those with which the distribution compiled its Ruby. No libruby is linked, since a ruby
  # program may contain it.
  def settings
    { "CC" => "#{processor.triplet}-gcc", "CFLAGS" => "-O2 -fPIC -fstack-protector-strong",
      "CPPFLAGS" => "-D_FORTIFY_SOURCE=2 -I/usr/include/libxml2 $(DEFS) $(cppflags)",
      "LDFLAGS" => "-L/opt/#{processor.triplet}/lib", "DLDFLAGS" => "-Wl,-z,relro -Wl,-z,now -s",
      "LIBRUBYARG" => "", "LIBRUBYARG_SHARED" => "", "LIBRUBYARG_STATIC" => "" }
  end
end
