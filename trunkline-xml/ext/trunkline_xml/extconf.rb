# frozen_string_literal: true

# Needs nothing but a C compiler. Switches, by environment:
#   PEDANTIC=1                    every warning is an error (CI)
#   DEBUG=1                       unoptimised, with symbols
#   SANITIZE=address,undefined    built for the sanitizers; load it with their runtime preloaded
#   SCALAR=1                      escapes without vector instructions, as processors without them do

# Other Rubies than CRuby have no use for C, or no mkmf: there the builder in Ruby writes the same.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n")
  exit
end

require "mkmf"

def switch?(name) = !["", "0"].include?(ENV.fetch(name, ""))

# Our flags come last, so that they win over those with which the Ruby was built. Its choice of warnings forbids
# C99's declarations; its methods all get a self, used or not.
$warnflags = ""
$CFLAGS << " -std=gnu99 -fvisibility=hidden -MMD -MP -Wall -Wextra -Wno-unused-parameter"
$CFLAGS << " -Werror" if switch?("PEDANTIC")
$CFLAGS << (switch?("DEBUG") ? " -O0 -g3" : " -O3")
$CFLAGS << " -DTRUNKLINE_XML_SCALAR" if switch?("SCALAR")

sanitizers = ENV.fetch("SANITIZE", "")
unless sanitizers.empty?
  $CFLAGS << " -fsanitize=#{sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g"
  # Ruby leaves blocks by __builtin_longjmp, unseen by AddressSanitizer, which takes what lies above for live frames.
  $CFLAGS << " --param asan-stack=0" if sanitizers.include?("address") && !RbConfig::CONFIG["CC"].include?("clang")
  $LDFLAGS << " -fsanitize=#{sanitizers}"
end

create_makefile("trunkline/xml/trunkline_xml")
