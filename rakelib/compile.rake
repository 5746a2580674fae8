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
    Command.at_once(%w[gcc clang].product(EXTENSIONS)) do |compiler, extension|
      extension.make(flavour: "pedantic-#{compiler}", environment: { "PEDANTIC" => "1" }, compiler: compiler)
      puts "#{extension.name}: no warnings by #{compiler}"
    end
  end
end

desc "Remove everything that was built"
task :clean do
  rm_rf [File.join(ROOT, "tmp"), File.join(ROOT, "pkg")]
  rm_f EXTENSIONS.map(&:target)
end
