# frozen_string_literal: true

desc "A recorded HAR file against the JSON schemas of github.com/ahmadnassri/har-schema (HAR_SCHEMA=its package)"
task har: :compile do
  folder = ENV.fetch("HAR_SCHEMA") do
    abort "har: set HAR_SCHEMA to the schemas:\n  npm pack har-schema && tar xzf har-schema-*.tgz\n  " \
          "rake har HAR_SCHEMA=package"
  end
  folder = File.expand_path("lib", folder)
  abort "har: #{folder}/har.json is not there" unless File.exist?("#{folder}/har.json")

  ruby "-I", "trunkline/lib", "-I", "trunkline/test", "trunkline/test/har/suite.rb", folder
end
