# frozen_string_literal: true

require "open3"
require_relative "support/snippets"

# Tests of the gem where its extension cannot be built: it must install, and make calls with its engine in Ruby.

# Runs RubyGems, and Ruby, with make and a shell, but without a compiler.
def without_compiler(environment)
  require "tmpdir"
  Dir.mktmpdir("trunkline-bare-") do |folder|
    programs = ENV.fetch("PATH").split(File::PATH_SEPARATOR).flat_map { |path| Dir["#{path}/{make,sh}"] }
    programs.uniq { |program| File.basename(program) }.each { |program| ln_s program, folder, verbose: false }
    yield environment.merge("PATH" => folder)
  end
end

# @return [String] the command's output
def output_of(environment, *command)
  output, status = Open3.capture2e(environment, *command)
  status.success? ? output : abort("#{command.join(" ")} failed:\n#{output}")
end

def install_without_compiler(file, environment)
  run = [RbConfig.ruby, "-rrubygems/gem_runner", "-e", "Gem::GemRunner.new.run(ARGV)", "--"]
  output_of(environment, *run, "install", "--local", "--no-document", "--verbose", "#{PACKAGES}/#{file}")
end

namespace :package do
  desc "Install the gem where there is no compiler, and the one for JRuby, and call with them"
  task engines: :package do
    version = Gem::Specification.load("#{ROOT}/trunkline/trunkline.gemspec").version
    gems = { "trunkline-#{version}.gem" => /installed without its extension.*there is no C compiler/,
             "trunkline-#{version}-java.gem" => /Successfully installed/ }
    gems.each do |file, expected|
      with_gem_home do |environment|
        without_compiler(environment) do |bare|
          output = install_without_compiler(file, bare)
          abort "#{file} does not say #{expected.inspect}:\n#{output}" unless output.match?(expected)

          engine = output_of(bare, RbConfig.ruby, "-e", 'require "trunkline"; print Trunkline::ENGINE')
          abort "#{file} uses the engine #{engine}" unless engine == "ruby"
          ran = Snippets.with_server do |url|
            Snippets.new("#{ROOT}/README.md").run(url: url, first: 3, ruby: [environment, RbConfig.ruby])
          end
          abort "#{file}: no example ran" if ran.zero?
        end
      end
    end
    puts "#{gems.size} passed, 0 failed"
  end
end
