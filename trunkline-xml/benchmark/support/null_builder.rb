# frozen_string_literal: true

require "fileutils"
require "rbconfig"

# Compiles the do-nothing builder (null_builder/null_builder.c) under the repository's tmp/ and loads it.
source = File.expand_path("../null_builder", __dir__)
folder = File.expand_path("../../../tmp/bench/null_builder-#{RUBY_VERSION}", __dir__)
FileUtils.mkdir_p(folder)
built = system(RbConfig.ruby, File.join(source, "extconf.rb"), chdir: folder, out: File::NULL) &&
        system("make", "--silent", chdir: folder, out: File::NULL)
abort "the do-nothing builder does not compile: see #{folder}/mkmf.log" unless built
require File.join(folder, "null_builder")
