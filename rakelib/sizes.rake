# frozen_string_literal: true

require_relative "support/c_source"

FILE_LINES = 500 # a file has fewer
SIZED_FILES = FileList["*.rb", "{trunkline*,rakelib,benchmark,bin,docs,examples,site}/**/*.{c,h,rb,rake}"]

namespace :sizes do
  desc "Are files and C functions short?"
  task :check do
    files = SIZED_FILES.to_h { |path| [path, File.foreach(path).count] }
    functions = files.keys.grep(/\.[ch]\z/)
    abort "no C files" if functions.empty?
    faults = functions.flat_map { |path| CSource.long_functions(path) } +
             files.select { |_, lines| lines >= FILE_LINES }
               .map { |path, lines| "#{path} has #{lines} lines; the most are #{FILE_LINES - 1}" }
    abort faults.join("\n") unless faults.empty?
    puts "#{files.size} files have fewer than #{FILE_LINES} lines, " \
         "C functions fewer than #{CSource::FUNCTION_LINES}"
  end
end
