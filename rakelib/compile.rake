# frozen_string_literal: true

require_relative "support/command"
require_relative "support/extension"
require_relative "support/musl"

EXTENSIONS = Dir["#{ROOT}/trunkline*/ext/*/extconf.rb"].map { |extconf| Extension.new(extconf) }

desc "Compile the extensions into each gem's lib/ (PEDANTIC=1, DEBUG=1, SANITIZE=address,undefined)"
task :compile do
  EXTENSIONS.each(&:build)
end

namespace :compile do
  desc "Compile the extensions with every warning an error, by gcc and by clang; the engine also with musl's headers"
  task :pedantic do
    pedantic = { "PEDANTIC" => "1" }
    Command.at_once(EXTENSIONS) do |extension|
      extension.make(flavour: "pedantic", environment: pedantic)
      extension.check(flavour: "pedantic-clang", environment: pedantic, compiler: "clang")
      puts "#{extension.name}: no warnings"
    end
    Rake::Task["compile:musl"].invoke
  end

  # Alpine's libc is musl, whose headers declare less than glibc's. When the extension cannot be compiled with them,
  # users get the engine in Ruby without an error, so this task checks it.
  task :musl do
    next puts("musl-gcc is not here: what musl's headers lack is not checked") unless Musl.here?

    EXTENSIONS.find { |extension| extension.name == "trunkline" }.check(
      flavour: "pedantic-musl", environment: { "PEDANTIC" => "1" },
      compiler: Musl.new(File.join(ROOT, "tmp", "musl")).compiler
    )
    puts "trunkline: no warnings with musl's headers"
  end
end

desc "Remove everything that was built"
task :clean do
  rm_rf [File.join(ROOT, "tmp"), File.join(ROOT, "pkg")]
  rm_f EXTENSIONS.map(&:target)
end
