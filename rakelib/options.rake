# frozen_string_literal: true

desc "Write the lists of options in docs and RBS from the table of options"
task :options do
  require_relative "support/option_lists"

  OptionLists.new.files.each { |path, text| File.write(File.join(ROOT, path), text) }
end
