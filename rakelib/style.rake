# frozen_string_literal: true

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
