# frozen_string_literal: true

require_relative "support/c_source"
require_relative "support/includes"

C_FILES = FileList["trunkline*/{ext,lib,test}/**/*.{c,h}"]

# RuboCop takes a tenth less time when the garbage collector runs less often.
FEWER_COLLECTIONS = { "RUBY_GC_HEAP_FREE_SLOTS" => "600000", "RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR" => "4",
                      "RUBY_GC_MALLOC_LIMIT" => "128000000", "RUBY_GC_MALLOC_LIMIT_MAX" => "256000000",
                      "RUBY_GC_OLDMALLOC_LIMIT" => "256000000", "RUBY_GC_OLDMALLOC_LIMIT_MAX" => "512000000" }.freeze

desc "RuboCop over every Ruby file"
task(:lint) { sh FEWER_COLLECTIONS, "rubocop", "--format", "simple", verbose: false }

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
  desc "Do the engine's folders include each other one way, and do their headers' functions have comments?"
  task :check do
    sources = Includes.sources
    headers = sources.grep(/\.h\z/).map { |header| File.join(Includes::EXT, header) }
    abort "no C files" if headers.empty?
    faults = Includes.faults + headers.flat_map { |header| CSource.uncommented(header) }
    abort faults.join("\n") unless faults.empty?
    puts "#{sources.size} C files include downwards; the functions of #{headers.size} headers have comments"
  end
end
