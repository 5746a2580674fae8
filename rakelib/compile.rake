# frozen_string_literal: true

require_relative "support/command"
require_relative "support/extension"

EXTENSIONS = Dir["#{ROOT}/trunkline*/ext/*/extconf.rb"].map { |extconf| Extension.new(extconf) }

desc "Compile the extensions into each gem's lib/ (PEDANTIC=1, DEBUG=1, SANITIZE=address,undefined)"
task :compile do
  EXTENSIONS.each(&:build)
end

namespace :compile do
  desc "Compile the extensions with every warning an error, by gcc and by clang"
  task :pedantic do
    pedantic = { "PEDANTIC" => "1" }
    Command.at_once(EXTENSIONS) do |extension|
      extension.make(flavour: "pedantic", environment: pedantic)
      extension.check(flavour: "pedantic-clang", environment: pedantic, compiler: "clang")
      puts "#{extension.name}: no warnings"
    end
  end
end

desc "Remove everything that was built"
task :clean do
  rm_rf [File.join(ROOT, "tmp"), File.join(ROOT, "pkg")]
  rm_f EXTENSIONS.map(&:target)
end
