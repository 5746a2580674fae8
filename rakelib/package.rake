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
  WITHOUT_EXTENSION.each { |platform| package_without_extension(platform) }
end

# Platforms that get the same gem without its extension, which uses its engine in Ruby.
WITHOUT_EXTENSION = %w[java x64-mingw-ucrt x64-mingw32].freeze

def package_without_extension(platform)
  require "rubygems/package"
  Dir.chdir("#{ROOT}/trunkline") do
    spec = Gem::Specification.load("trunkline.gemspec").dup
    spec.platform = Gem::Platform.new(platform)
    spec.extensions = []
    spec.post_install_message = nil
    spec.files = spec.files.reject { |file| file.start_with?("ext/") }
    Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) do
      Gem::Package.build(spec, false, true, "#{PACKAGES}/#{spec.full_name}.gem")
    end
  end
end

# @return [Array<String>] what is wrong with a gem in pkg/ that has no extension
def faults_without_extension(platform)
  source = Gem::Specification.load("#{ROOT}/trunkline/trunkline.gemspec")
  file = "#{PACKAGES}/trunkline-#{source.version}-#{platform}.gem"
  return ["#{file} was not built"] unless File.exist?(file)

  spec = Gem::Package.new(file).spec
  faults = { "platform" => spec.platform == Gem::Platform.new(platform), "extensions" => spec.extensions.empty?,
             "files" => spec.files.sort == source.files.grep_v(%r{\Aext/}).sort,
             "dependencies" => spec.dependencies == source.dependencies }
  faults.reject { |_, right| right }.map { |name, _| "#{File.basename(file)}: its #{name} are wrong" }
end

# The gems that our gems depend on, in the versions of the bundle: [Gem::Specification, ...].
def package_dependencies
  specs = Bundler.load.specs.to_h { |spec| [spec.name, spec] }
  ours = Dir["#{ROOT}/trunkline*/*.gemspec"].map { |gemspec| File.basename(gemspec, ".gemspec") }
  found = names = ours
  until names.empty?
    names = names.flat_map { |name| specs.fetch(name).runtime_dependencies.map(&:name) }.uniq - found
    found |= names
  end
  (found - ours).map { |name| specs.fetch(name) }
end

# Links a gem of the bundle into `home`, as it is built already.
def link_gem(spec, home)
  extensions = spec.extension_dir.delete_prefix("#{spec.base_dir}/")
  { spec.full_gem_path => "gems/#{spec.full_name}", spec.loaded_from => "specifications/#{spec.full_name}.gemspec",
    spec.extension_dir => extensions }.each do |source, target|
    next unless File.exist?(source)

    mkdir_p File.dirname(File.join(home, target)), verbose: false
    ln_s source, File.join(home, target), verbose: false
  end
end

# Runs the block as on a user's machine: without Bundler, with no gems but this repository's, their dependencies, and
# Ruby's own.
def with_gem_home
  require "bundler"
  require "etc"
  require "tmpdir"
  Dir.mktmpdir("trunkline-gems-") do |home|
    package_dependencies.each { |spec| link_gem(spec, home) }
    environment = { "GEM_HOME" => home, "GEM_PATH" => home, "RUBYLIB" => nil, "MAKEFLAGS" => "-j#{Etc.nprocessors}" }
    Bundler.with_unbundled_env { yield(environment) }
  end
end

namespace :package do
  desc "Does each gem have its licence, pages, addresses, and only links that lead somewhere?"
  task :check do
    require_relative "support/package_check"

    gemspecs = Dir["#{ROOT}/trunkline*/*.gemspec"]
    faults = gemspecs.flat_map { |gemspec| PackageCheck.new(gemspec).faults }
    abort faults.join("\n") unless faults.empty?
    puts "#{gemspecs.size} gems: licence, pages, addresses and links are there"
  end

  desc "Install the gems into a GEM_HOME of their own and run the README's first examples from there"
  task test: %i[check package] do
    require_relative "support/snippets"

    with_gem_home do |environment|
      gems = Dir["#{PACKAGES}/*.gem"].reject { |file| file.end_with?(*WITHOUT_EXTENSION.map { |one| "-#{one}.gem" }) }
      sh environment, "gem", "install", "--local", "--no-document", "--quiet", *gems, verbose: false
      readme = Snippets.new("#{ROOT}/README.md")
      ran = Snippets.with_server { |url| readme.run(url: url, first: 3, ruby: [environment, RbConfig.ruby]) }
      abort "the README has no example that runs" if ran.zero?
      puts "#{ran} passed, 0 failed"
    end
  end
end
