# frozen_string_literal: true

# Finds the libraries that the engine needs and writes the Makefile. Environment variables:
#   PEDANTIC=1                    treats every warning as an error (CI)
#   DEBUG=1                       builds without optimisation, with -DTRUNKLINE_DEBUG
#   TRUNKLINE_POLL=1              builds the code for systems without epoll, eventfd, ppoll etc. (macOS), to test it on
#                                 Linux
#   SANITIZE=address,undefined    builds with these sanitizers; load the extension with their runtime preloaded
#   TRUNKLINE_STATIC=1            links the libraries statically (rake package:native)
#   TRUNKLINE_ENGINE=c            fails if the extension cannot be built; otherwise the gem is installed without the
#                                 extension and uses its engine in Ruby
# Argument:
#   --with-openssl-dir=/opt/ssl   uses another OpenSSL than the one that the Ruby was configured with

require "fileutils"
require "rbconfig"

# Why there is no extension, for `trunkline doctor`. RubyGems runs this file in its folder of the installed gem.
REASON = "extension_missing.txt"

def make_program
  ENV["MAKE"] || ENV["make"] || RbConfig::CONFIG["configure_args"].to_s[/with-make-prog=(\w+)/, 1] || "make"
end

def make?
  name = make_program.split.first.to_s
  [name, *ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).map { |folder| File.join(folder, name) }].any? do |path|
    path.include?("/") && File.executable?(path) && !File.directory?(path)
  end
end

# RubyGems from 4.0 on runs no make without a Makefile.
def makefile_needed?
  require "rubygems/ext"
  !Gem::Ext::Builder.const_defined?(:NoMakefileError)
rescue LoadError
  true
end

# Leaves nothing to make: no Makefile, or for an older RubyGems one with empty targets.
def leave_nothing_to_make
  $makefile_created = true # mkmf fails without a Makefile
  return FileUtils.rm_f("Makefile") unless makefile_needed?

  File.write("Makefile", "all install clean distclean static:\n\t@:\n.PHONY: all install clean distclean static\n")
  return if make?

  puts "RubyGems #{Gem::VERSION} runs `#{make_program}` even so, and it is not there. Any of these helps: " \
       "MAKE=true gem install trunkline; gem update --system (RubyGems 4.0 or newer); apt-get install make"
end

# Exits without building the extension.
def go_without(reason)
  abort(reason) if ENV["TRUNKLINE_ENGINE"] == "c"

  File.write(REASON, "#{reason}\n")
  puts "trunkline is installed without its extension, and uses its engine in Ruby: #{reason}"
  leave_nothing_to_make
  exit
end

FileUtils.rm_f(REASON)
go_without("#{RUBY_ENGINE} takes no extension in C") unless RUBY_ENGINE == "ruby"
if RbConfig::CONFIG["host_os"].match?(/mswin|mingw/)
  go_without("its sources in C need POSIX sockets and threads, which Windows lacks")
end
begin
  require "mkmf"
rescue SystemExit, LoadError
  go_without("Ruby's headers were not found. On Debian: apt-get install ruby-dev")
end

# One library: the header and function that must be usable, and the package that provides them.
Library = Struct.new(:name, :header, :function, :package, :debian, :why, keyword_init: true) do
  # Uses pkg-config only when the library is not on the default path.
  def present? = compiles? || (pkg_config(package) && compiles?)

  def compiles? = have_header(header) && have_library(name, function, header)

  def missing = "#{name} (#{header}) was not found: #{why}. On Debian: apt-get install #{debian}; see mkmf.log"
end

REQUIRED = [
  Library.new(name: "crypto", header: "openssl/crypto.h", function: "OPENSSL_init_crypto", package: "libcrypto",
              debian: "libssl-dev", why: "TLS is OpenSSL's (1.1.1 or newer)"),
  Library.new(name: "ssl", header: "openssl/ssl.h", function: "SSL_CTX_set_ciphersuites", package: "libssl",
              debian: "libssl-dev", why: "TLS is OpenSSL's (1.1.1 or newer)"),
  Library.new(name: "z", header: "zlib.h", function: "inflateInit2_", package: "zlib",
              debian: "zlib1g-dev", why: "gzip and deflate are zlib's")
].freeze

# Each library found defines HAVE_<key>. Without it the engine neither offers nor accepts its protocol or content
# coding.
OPTIONAL = {
  "NGHTTP2" => Library.new(name: "nghttp2", header: "nghttp2/nghttp2.h", function: "nghttp2_session_client_new",
                           package: "libnghttp2", debian: "libnghttp2-dev", why: "HTTP/2 stays off"),
  "BROTLI" => Library.new(name: "brotlidec", header: "brotli/decode.h", function: "BrotliDecoderCreateInstance",
                          package: "libbrotlidec", debian: "libbrotli-dev", why: "br is not asked for"),
  "ZSTD" => Library.new(name: "zstd", header: "zstd.h", function: "ZSTD_decompressStream",
                        package: "libzstd", debian: "libzstd-dev", why: "zstd is not asked for")
}.freeze

# Functions that only some versions of the optional libraries have, or that a distribution backports. Each one found
# defines HAVE_<FUNCTION>.
OPTIONAL_FUNCTIONS = {
  "NGHTTP2" => { "nghttp2_option_set_max_continuations" => "nghttp2/nghttp2.h" }
}.freeze

# Functions that only some systems have; transport/events/portable.h has the replacements.
SYSTEM_FUNCTIONS = {
  "epoll_create1" => "sys/epoll.h", "eventfd" => "sys/eventfd.h", "ppoll" => "poll.h",
  "pthread_condattr_setclock" => "pthread.h"
}.freeze

def switch?(name) = !["", "0"].include?(ENV.fetch(name, ""))

# Ruby's openssl extension and this one must use the same OpenSSL: without the argument, mkmf takes the one that the
# Ruby was configured with. The rpath makes the loader use it instead of the system's.
def follow_openssl
  include, folder = dir_config("openssl")
  return unless include

  folders = folder.split(File::PATH_SEPARATOR).flat_map { |path| [path, "#{path}64"] }
  folder = folders.find { |path| !Dir["#{path}/libcrypto.*"].empty? }
  abort("--with-openssl-dir: there is no libcrypto beside #{include}") unless folder
  $DEFLIBPATH.unshift(folder) # before the Ruby's library folder, which may also hold the system's OpenSSL
  $DLDFLAGS << " -Wl,-rpath,#{folder}"
end

follow_openssl
begin
  go_without("the C compiler does not work; see mkmf.log") unless try_compile("int main(void) { return 0; }")
rescue RuntimeError, SystemCallError # raised by mkmf when there is no compiler
  go_without("there is no C compiler. On Debian: apt-get install gcc make libc6-dev")
end
missing = REQUIRED.reject(&:present?)
go_without(missing.map(&:missing).uniq.join("; ")) if missing.any?
go_without("there is no #{make_program}. On Debian: apt-get install make") unless make?
OPTIONAL.each do |key, library|
  if library.present?
    $defs << "-DHAVE_#{key}"
    OPTIONAL_FUNCTIONS.fetch(key, {}).each { |function, header| have_func(function, header) }
  else
    message("%s\n", library.missing)
  end
end
have_library("pthread") # resolver threads; part of libc since glibc 2.34
have_library("dl", "dladdr", "dlfcn.h") # part of libc since glibc 2.34
if switch?("TRUNKLINE_POLL")
  $defs << "-DTRUNKLINE_POLL"
else
  SYSTEM_FUNCTIONS.each { |function, header| have_func(function, header) }
end

# These flags come last, so that they override the ones that the Ruby was built with. Ruby's warning flags forbid
# declarations after statements (C99). A C method has a `self` parameter even if it does not use it.
$warnflags = ""
$CFLAGS << " -std=gnu99 -fvisibility=hidden -MMD -MP -Wall -Wextra -Wno-unused-parameter"
$CFLAGS << " -Werror" if switch?("PEDANTIC")
$CFLAGS << (switch?("DEBUG") ? " -O0 -g3 -DTRUNKLINE_DEBUG" : " -O2")

sanitizers = ENV.fetch("SANITIZE", "")
unless sanitizers.empty?
  # Ruby leaves fibers' stacks by longjmp, after which ASan cleans up threads' stacks only: its stale marks on a fiber's
  # stack would be reported as errors. The C tests of protocol/ and transport/ are built with the checks of stacks.
  stacks = RbConfig::MAKEFILE_CONFIG["CC"].include?("clang") ? "-mllvm -asan-stack=0" : "--param asan-stack=0"
  $CFLAGS << " -fsanitize=#{sanitizers} -fno-omit-frame-pointer -g #{stacks if sanitizers.include?("address")}"
  $LDFLAGS << " -fsanitize=#{sanitizers}"
end

# Each object file has the folder of its source, because two folders may have sources of the same name. #include paths
# are relative to this folder, which mkmf passes to the compiler.
sources = Dir.glob("{protocol,transport,ruby}/**/*.c", base: $srcdir).sort
abort("no sources under #{$srcdir}") if sources.empty?
sources.map { |source| File.dirname(source) }.uniq.each { |folder| FileUtils.mkdir_p(folder) }
$srcs = sources
$objs = sources.map { |source| source.sub(/\.c\z/, ".#{$OBJEXT}") }

# For a precompiled gem, which needs only libc where it is installed. The engine and its libraries become
# libtrunkline.so, which the small extension of each Ruby version links to. It hides the libraries' functions, so that
# its OpenSSL and another copy in the same process are not bound to each other's functions.
rules = ""
if switch?("TRUNKLINE_STATIC")
  engine, $objs = $objs.partition { |object| !object.start_with?("ruby/") }
  names = [*REQUIRED, *OPTIONAL.values].map(&:name).join("|")
  libraries = $libs.gsub(/-l(#{names})(?=\s|\z)/, '-l:lib\1.a').sub("-l:libbrotlidec.a", '\0 -l:libbrotlicommon.a')
  $libs = "-L. -l:libtrunkline.so"
  $DLDFLAGS << " -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-rpath,'$$ORIGIN/..' -s"
  # The symbol version keeps the loader from binding to symbols of the same names in other libraries.
  File.write("libtrunkline.map", "TRUNKLINE { global: *; };\n")
  rules = <<~MAKE
    ENGINE = #{engine.join(" ")}
    $(ENGINE): CFLAGS += -fvisibility=default -ffunction-sections -fdata-sections
    libtrunkline.so: $(ENGINE)
    \t$(LDSHARED) -o $@ $(ENGINE) -Wl,-soname,$@ -Wl,--version-script=libtrunkline.map $(DLDFLAGS) #{libraries} -lc
    $(TARGET_SO): libtrunkline.so
    -include $(ENGINE:.#{$OBJEXT}=.d)
  MAKE
end

create_makefile("trunkline/trunkline")

# The .d files come from the compiler (-MMD): an object is rebuilt when a header that its source includes changes.
File.open("Makefile", "a") { |makefile| makefile.puts(rules, "-include $(OBJS:.#{$OBJEXT}=.d)") }
