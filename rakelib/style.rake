# frozen_string_literal: true

require_relative "support/includes"

C_FILES = FileList["trunkline*/{ext,lib,test}/**/*.{c,h}"]

desc "RuboCop over every Ruby file"
task(:lint) { sh "rubocop", "--format", "simple", verbose: false }

desc "Format the C files in place"
task(:format) { sh "clang-format", "-i", *C_FILES, verbose: false }

namespace :format do
  desc "Are the C files formatted?"
  task :check do
    abort "no C files" if C_FILES.empty?
    sh "clang-format", "--dry-run", "--Werror", *C_FILES, verbose: false
    puts "#{C_FILES.size} C files are formatted"
  end
end

namespace :includes do
  desc "Do the engine's folders include each other one way?"
  task :check do
    faults = Includes.faults
    abort faults.join("\n") unless faults.empty?
    puts "#{Includes.sources.size} C files include downwards"
  end
end
