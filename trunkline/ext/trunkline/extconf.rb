# frozen_string_literal: true

# Finds the libraries below the engine and writes the Makefile. Switches, by environment:
#   PEDANTIC=1                    every warning is an error (CI)
#   DEBUG=1                       unoptimised, with -DTRUNKLINE_DEBUG
#   TRUNKLINE_POLL=1              as where there is no epoll, eventfd, ppoll and the like (macOS), to test that here
#   SANITIZE=address,undefined    built for the sanitizers; load it with their runtime preloaded
#   TRUNKLINE_STATIC=1            the libraries become a part of the extension (rake package:native)
#   TRUNKLINE_ENGINE=c            an extension that cannot be built is an error; otherwise the gem is installed without
#                                 it, and uses its engine in Ruby
# and by an argument:
#   --with-openssl-dir=/opt/ssl   another OpenSSL than the Ruby was configured with

# Ends without an extension: RubyGems gets a Makefile that makes nothing.
def go_without(reason)
  abort(reason) if ENV["TRUNKLINE_ENGINE"] == "c"

  File.write("Makefile", "all install clean distclean static:\n\t@:\n.PHONY: all install clean distclean static\n")
  puts "trunkline is installed without its extension, and uses its engine in Ruby: #{reason}"
  exit
end

go_without("#{RUBY_ENGINE} takes no extension in C") unless RUBY_ENGINE == "ruby"
begin
  require "mkmf"
rescue SystemExit, LoadError
  go_without("Ruby's headers were not found. On Debian: apt-get install ruby-dev")
end

# One library: what tells that it is usable, and which package brings it when it is not.
Library = Struct.new(:name, :header, :function, :package, :debian, :why, keyword_init: true) do
  # pkg-config is only asked where the library is not on the default path.
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

# Each defines HAVE_<key>; without it the engine neither offers nor accepts what it would bring.
OPTIONAL = {
  "NGHTTP2" => Library.new(name: "nghttp2", header: "nghttp2/nghttp2.h", function: "nghttp2_session_client_new",
                           package: "libnghttp2", debian: "libnghttp2-dev", why: "HTTP/2 stays off"),
  "BROTLI" => Library.new(name: "brotlidec", header: "brotli/decode.h", function: "BrotliDecoderCreateInstance",
                          package: "libbrotlidec", debian: "libbrotli-dev", why: "br is not asked for"),
  "ZSTD" => Library.new(name: "zstd", header: "zstd.h", function: "ZSTD_decompressStream",
                        package: "libzstd", debian: "libzstd-dev", why: "zstd is not asked for")
}.freeze

# What only some versions of them have, distributions' patches included: each found defines HAVE_<FUNCTION>.
OPTIONAL_FUNCTIONS = {
  "NGHTTP2" => { "nghttp2_option_set_max_continuations" => "nghttp2/nghttp2.h" }
}.freeze

# What only some systems have; transport/events/portable.h says what the others do instead.
SYSTEM_FUNCTIONS = {
  "epoll_create1" => "sys/epoll.h", "eventfd" => "sys/eventfd.h", "ppoll" => "poll.h",
  "pthread_condattr_setclock" => "pthread.h"
}.freeze

def switch?(name) = !["", "0"].include?(ENV.fetch(name, ""))

# One OpenSSL for Ruby's own extension and this one: without the argument, mkmf takes that with which the Ruby was
# configured. The loader must be told where it is too, or it takes the system's.
def follow_openssl
  include, folder = dir_config("openssl")
  return unless include

  folders = folder.split(File::PATH_SEPARATOR).flat_map { |path| [path, "#{path}64"] }
  folder = folders.find { |path| !Dir["#{path}/libcrypto.*"].empty? }
  abort("--with-openssl-dir: there is no libcrypto beside #{include}") unless folder
  $DEFLIBPATH.unshift(folder) # before the folder of the Ruby, where the system's may be
  $DLDFLAGS << " -Wl,-rpath,#{folder}"
end

follow_openssl
begin
  go_without("the C compiler does not work; see mkmf.log") unless try_compile("int main(void) { return 0; }")
rescue RuntimeError, SystemCallError # of mkmf, where there is none
  go_without("there is no C compiler. On Debian: apt-get install gcc make libc6-dev")
end
missing = REQUIRED.reject(&:present?)
go_without(missing.map(&:missing).uniq.join("; ")) if missing.any?
OPTIONAL.each do |key, library|
  if library.present?
    $defs << "-DHAVE_#{key}"
    OPTIONAL_FUNCTIONS.fetch(key, {}).each { |function, header| have_func(function, header) }
  else
    message("%s\n", library.missing)
  end
end
have_library("pthread") # resolver threads; part of libc since glibc 2.34
have_library("dl", "dladdr", "dlfcn.h") # the same
if switch?("TRUNKLINE_POLL")
  $defs << "-DTRUNKLINE_POLL"
else
  SYSTEM_FUNCTIONS.each { |function, header| have_func(function, header) }
end

# Our flags come last, so that they win over those with which the Ruby was built. Its choice of warnings forbids
# C99's declarations; its methods all get a self, used or not.
$warnflags = ""
$CFLAGS << " -std=gnu99 -fvisibility=hidden -MMD -MP -Wall -Wextra -Wno-unused-parameter"
$CFLAGS << " -Werror" if switch?("PEDANTIC")
$CFLAGS << (switch?("DEBUG") ? " -O0 -g3 -DTRUNKLINE_DEBUG" : " -O2")

sanitizers = ENV.fetch("SANITIZE", "")
unless sanitizers.empty?
  # Ruby leaves fibers' stacks by longjmp, which ASan knows of threads' stacks alone: what it had marked there would be
  # taken for faults. The C tests of protocol/ and transport/ have their stacks checked.
  stacks = RbConfig::MAKEFILE_CONFIG["CC"].include?("clang") ? "-mllvm -asan-stack=0" : "--param asan-stack=0"
  $CFLAGS << " -fsanitize=#{sanitizers} -fno-omit-frame-pointer -g #{stacks if sanitizers.include?("address")}"
  $LDFLAGS << " -fsanitize=#{sanitizers}"
end

# Objects keep the folder of their source: two folders may each have a file of the same name. Includes name files from
# here; mkmf passes this folder to the compiler.
sources = Dir.glob("{protocol,transport,ruby}/**/*.c", base: $srcdir).sort
abort("no sources under #{$srcdir}") if sources.empty?
sources.map { |source| File.dirname(source) }.uniq.each { |folder| FileUtils.mkdir_p(folder) }
$srcs = sources
$objs = sources.map { |source| source.sub(/\.c\z/, ".#{$OBJEXT}") }

# For a gem that is compiled already: nothing but libc is needed where it is installed. The engine and its libraries
# become libtrunkline.so, one for all Rubies, beside which each Ruby has a small extension. The libraries' functions are
# hidden in it, so that no other copy of OpenSSL in the process is used for ours, nor ours for it.
rules = ""
if switch?("TRUNKLINE_STATIC")
  engine, $objs = $objs.partition { |object| !object.start_with?("ruby/") }
  names = [*REQUIRED, *OPTIONAL.values].map(&:name).join("|")
  libraries = $libs.gsub(/-l(#{names})(?=\s|\z)/, '-l:lib\1.a').sub("-l:libbrotlidec.a", '\0 -l:libbrotlicommon.a')
  $libs = "-L. -l:libtrunkline.so"
  $DLDFLAGS << " -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-rpath,'$$ORIGIN/..' -s"
  # The version of the symbols keeps those of other libraries from being taken for them.
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

# The compiler itself says which headers a source includes.
File.open("Makefile", "a") { |makefile| makefile.puts(rules, "-include $(OBJS:.#{$OBJEXT}=.d)") }
