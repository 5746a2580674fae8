# frozen_string_literal: true

require "bundler"
require "open3"
require "rbconfig"

# Gems that cannot be loaded together with the others (agents patch a whole process, and Typhoeus is what its facade
# replaces), or that are many: each set is a separate bundle, gemfiles/NAME/Gemfile, in a separate folder. A gem
# that is installed for this process is used from there, since most of the time of an installation goes into compiling.
module SeparateBundle
  ROOT = File.expand_path("../../..", __dir__)

  class << self
    # @param name [String] the name of a folder in gemfiles
    # @param without [String, nil] the group that is left out
    # @return [Hash{String => String, nil}] the environment for Bundler, and for programs that load the gems by
    #   bundler/setup
    def environment(name, without: "others")
      { "BUNDLE_GEMFILE" => File.join(ROOT, "gemfiles", name, "Gemfile"), "BUNDLE_WITHOUT" => without,
        "BUNDLE_PATH" => nil, "BUNDLE_PATH__SYSTEM" => "true", "GEM_HOME" => folder(name),
        "GEM_PATH" => Gem.path.join(File::PATH_SEPARATOR),
        "BUNDLE_LOCKFILE" => nil, "BUNDLER_SETUP" => nil } # Bundler 4 sets them for this process' own bundle
    end

    # @return [Hash{String => String, nil}] the same for a Ruby that is started without `bundle exec`
    def setup_environment(name, without: "others")
      { **environment(name, without: without), "RUBYOPT" => "-rbundler/setup", "RUBYLIB" => nil }
    end

    # @return [String] the folder of the gems that are not installed for this process
    def folder(name)
      File.join(ROOT, "vendor/bundle", name, Gem.ruby_engine, RbConfig::CONFIG["ruby_version"])
    end

    # @return [Boolean] whether all gems of the set are installed
    def installed?(name)
      @installed ||= {}
      @installed.fetch(name) { @installed[name] = bundle(name, "check").last }
    end

    # Prints the reason of a failure.
    # @return [Boolean] whether it succeeded
    def install(name, without: "others")
      output, done = bundle(name, "install", "--quiet", "--jobs", "2", "--retry", "3", without: without)
      warn output unless done
      done
    end

    private

    # @return [Array(String, Boolean)] the command's output, and whether it succeeded
    def bundle(name, *command, without: "others")
      gems = environment(name, without: without)
      output, status = Bundler.with_unbundled_env { Open3.capture2e(gems, "bundle", *command) }
      [output, status.success?]
    end
  end
end
