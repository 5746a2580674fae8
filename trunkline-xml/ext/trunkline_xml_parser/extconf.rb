# frozen_string_literal: true

# Builds the parser for XmlMini, on libxml2. Without libxml2 nothing is built, and Nokogiri's parser is used if it is
# installed. Environment variables: see ext/trunkline_xml/extconf.rb.

# On other Rubies than CRuby, Nokogiri parses.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n")
  exit
end

require "mkmf"

def switch?(name) = !["", "0"].include?(ENV.fetch(name, ""))

# Only the headers are needed: the library is loaded at run time, isolated from any other copy (libxml2.h).
def libxml2?
  have_header("libxml/parser.h") || (pkg_config("libxml-2.0") && have_header("libxml/parser.h"))
end

# If a library cannot be isolated (musl), Nokogiri's libxml2 and the system's would call each other's functions.
def loaded_apart?
  have_header("dlfcn.h") && (RUBY_PLATFORM.include?("darwin") || have_const("RTLD_DEEPBIND", "dlfcn.h",
                                                                            "-D_GNU_SOURCE"))
end

if libxml2? && loaded_apart?
  $libs = $libs.gsub(/-lxml2\b/, "")
  have_library("dl", "dlopen", "dlfcn.h") # part of libc since glibc 2.34
  $warnflags = ""
  $CFLAGS << " -std=gnu99 -fvisibility=hidden -MMD -MP -Wall -Wextra -Wno-unused-parameter"
  $CFLAGS << " -Werror" if switch?("PEDANTIC")
  $CFLAGS << (switch?("DEBUG") ? " -O0 -g3" : " -O2")

  sanitizers = ENV.fetch("SANITIZE", "")
  unless sanitizers.empty?
    $CFLAGS << " -fsanitize=#{sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g"
    # Ruby leaves blocks by __builtin_longjmp. AddressSanitizer does not intercept it, and would treat the frames left
    # as live.
    $CFLAGS << " --param asan-stack=0" if sanitizers.include?("address") && !RbConfig::CONFIG["CC"].include?("clang")
    $LDFLAGS << " -fsanitize=#{sanitizers}"
  end
  create_makefile("trunkline/xml/trunkline_xml_parser")
else
  message("%s\n",
          "no libxml2 (libxml/parser.h) that can be loaded apart: XmlMini parses by Nokogiri. On Debian: libxml2-dev")
  File.write("Makefile", dummy_makefile(".").join)
end
