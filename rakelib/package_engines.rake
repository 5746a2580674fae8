# frozen_string_literal: true

require "open3"
require_relative "support/snippets"

# Tests of the gem where its extension cannot be built: it must install, and make calls with its engine in Ruby.

# How a gem is installed: the programs on the PATH, the environment, and what RubyGems and `trunkline doctor` print.
BareInstall = Struct.new(:programs, :environment, :installing, :doctor, keyword_init: true)

NO_EXTENSION = /^note +engine +:ruby, because the extension was not built: /
DOCTOR = %(require "trunkline/command"; Trunkline::Command.new.run(["doctor"]))
NO_COMPILER = BareInstall.new(
  programs: %w[make sh], environment: {}, doctor: /#{NO_EXTENSION}there is no C compiler/,
  installing: /installed without its extension.*there is no C compiler/
)
# RubyGems before 4.0 runs make in any case: MAKE=true, as extconf.rb says.
NO_MAKE = BareInstall.new(
  programs: %w[true], doctor: NO_COMPILER.doctor, installing: NO_COMPILER.installing,
  environment: Gem::Version.new(Gem::VERSION) < Gem::Version.new("4") ? { "MAKE" => "true" } : {}
)
# A gem of a platform that gets none.
NOTHING_TO_BUILD = BareInstall.new(programs: [], environment: {}, installing: /Successfully installed/,
                                   doctor: /#{NO_EXTENSION}the gem that is installed is one without it/)

# Runs RubyGems, and Ruby, with these programs alone.
def with_programs(names, environment)
  require "tmpdir"
  Dir.mktmpdir("trunkline-bare-") do |folder|
    names.each do |name|
      program = ENV.fetch("PATH").split(File::PATH_SEPARATOR).map { |path| "#{path}/#{name}" }.find { File.exist?(_1) }
      ln_s program, folder, verbose: false
    end
    yield environment.merge("PATH" => folder, "MAKE" => nil)
  end
end

# @return [Array(String, Process::Status)]
def install_bare(file, environment)
  run = [RbConfig.ruby, "-rrubygems/gem_runner", "-e", "Gem::GemRunner.new.run(ARGV)", "--"]
  Open3.capture2e(environment, *run, "install", "--local", "--no-document", "--verbose", file)
end

def check_bare_install(file, install)
  with_gem_home do |home|
    with_programs(install.programs, home) do |bare|
      output, status = install_bare(file, bare.merge(install.environment))
      doctor, = Open3.capture2e(bare, RbConfig.ruby, "-e", DOCTOR)
      next if status.success? && output.match?(install.installing) && doctor.match?(install.doctor)

      abort "#{file} with #{install.programs.inspect}: not as expected\n#{output}\n#{doctor}"
    end
    check_examples(file, home)
  end
end

def check_examples(file, home)
  ran = Snippets.with_server do |url|
    Snippets.new("#{ROOT}/README.md").run(url: url, first: 3, ruby: [home, RbConfig.ruby])
  end
  abort "#{file}: no example ran" if ran.zero?
end

# Where RubyGems needs make and there is none, the error says what to do.
def check_advice(file)
  return if NO_MAKE.environment.empty?

  with_gem_home do |home|
    with_programs([], home) do |bare|
      output, status = install_bare(file, bare)
      abort "no advice:\n#{output}" if status.success? || !output.include?("MAKE=true gem install trunkline")
    end
  end
end

namespace :package do
  desc "Install the gem where there is no compiler, and the ones for JRuby and Windows, and call with them"
  task engines: :package do
    version = Gem::Specification.load("#{ROOT}/trunkline/trunkline.gemspec").version
    faults = WITHOUT_EXTENSION.flat_map { |platform| faults_without_extension(platform) }
    abort faults.join("\n") unless faults.empty?

    source = "#{PACKAGES}/trunkline-#{version}.gem"
    installs = [[source, NO_COMPILER], [source, NO_MAKE],
                *WITHOUT_EXTENSION.map { |one| ["#{PACKAGES}/trunkline-#{version}-#{one}.gem", NOTHING_TO_BUILD] }]
    installs.each { |file, install| check_bare_install(file, install) }
    check_advice(source)
    puts "#{installs.size + 1} passed, 0 failed"
  end
end
