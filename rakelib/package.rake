# frozen_string_literal: true

PACKAGES = "#{ROOT}/pkg".freeze

desc "Build each gem into pkg/"
task :package do
  mkdir_p PACKAGES, verbose: false
  rm_f Dir["#{PACKAGES}/*.gem"], verbose: false
  Dir["#{ROOT}/trunkline*/*.gemspec"].each do |gemspec|
    name = File.basename(gemspec, ".gemspec")
    version = Gem::Specification.load(gemspec).version
    sh "gem", "build", "--quiet", "--strict", File.basename(gemspec), "--output", "#{PACKAGES}/#{name}-#{version}.gem",
       chdir: File.dirname(gemspec), verbose: false
  end
end

# A user's machine: no Bundler, no gem but ours and the Ruby's own.
def with_empty_gem_home
  require "bundler"
  require "etc"
  require "tmpdir"
  Dir.mktmpdir("trunkline-gems-") do |home|
    environment = { "GEM_HOME" => home, "GEM_PATH" => home, "RUBYLIB" => nil, "MAKEFLAGS" => "-j#{Etc.nprocessors}" }
    Bundler.with_unbundled_env { yield(environment) }
  end
end

namespace :package do
  desc "Install the gems into an empty GEM_HOME and run the README's first examples from there"
  task test: :package do
    require_relative "support/snippets"

    with_empty_gem_home do |environment|
      sh environment, "gem", "install", "--no-document", "--quiet", *Dir["#{PACKAGES}/*.gem"], verbose: false
      readme = Snippets.new("#{ROOT}/README.md")
      ran = Snippets.with_server { |url| readme.run(url: url, first: 3, ruby: [environment, RbConfig.ruby]) }
      abort "the README has no example that runs" if ran.zero?
      puts "#{ran} passed, 0 failed"
    end
  end
end
