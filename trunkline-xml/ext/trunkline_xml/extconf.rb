# frozen_string_literal: true

# Needs only a C compiler. Environment variables:
#   PEDANTIC=1                    treats every warning as an error (CI)
#   DEBUG=1                       builds without optimisation, with symbols
#   SANITIZE=address,undefined    builds with these sanitizers; load the extension with their runtime preloaded
#   SCALAR=1                      escapes without vector instructions, as on processors without them

# Other Rubies than CRuby use no C extension or have no mkmf; the builder in Ruby has the same output there.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n")
  exit
end

require "mkmf"

def switch?(name) = !["", "0"].include?(ENV.fetch(name, ""))

# These flags come last, so that they override the ones that the Ruby was built with. Ruby's warning flags forbid
# declarations after statements (C99). A C method has a `self` parameter even if it does not use it.
$warnflags = ""
$CFLAGS << " -std=gnu99 -fvisibility=hidden -MMD -MP -Wall -Wextra -Wno-unused-parameter"
$CFLAGS << " -Werror" if switch?("PEDANTIC")
$CFLAGS << (switch?("DEBUG") ? " -O0 -g3" : " -O3")
$CFLAGS << " -DTRUNKLINE_XML_SCALAR" if switch?("SCALAR")

sanitizers = ENV.fetch("SANITIZE", "")
unless sanitizers.empty?
  $CFLAGS << " -fsanitize=#{sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g"
  # Ruby leaves blocks by __builtin_longjmp. AddressSanitizer does not intercept it, and would treat the frames left as
  # live.
  $CFLAGS << " --param asan-stack=0" if sanitizers.include?("address") && !RbConfig::CONFIG["CC"].include?("clang")
  $LDFLAGS << " -fsanitize=#{sanitizers}"
end

create_makefile("trunkline/xml/trunkline_xml")
