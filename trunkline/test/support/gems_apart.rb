# frozen_string_literal: true

require "bundler"
require "open3"
require "rbconfig"

# Gems that cannot be loaded beside the others (agents patch a whole process, Typhoeus is what its facade stands for),
# or that are many: each set is a bundle of its own, gemfiles/NAME/Gemfile, and in a folder of its own. A gem that is
# installed for this process is used from there, as most of the time of an installation goes into compiling.
module GemsApart
  ROOT = File.expand_path("../../..", __dir__)

  class << self
    # @param name [String] of a folder in gemfiles
    # @param without [String, nil] the group that is left out
    # @return [Hash{String => String, nil}] environment of Bundler, and of programs that load the gems by bundler/setup
    def environment(name, without: "others")
      { "BUNDLE_GEMFILE" => File.join(ROOT, "gemfiles", name, "Gemfile"), "BUNDLE_WITHOUT" => without,
        "BUNDLE_PATH" => nil, "BUNDLE_PATH__SYSTEM" => "true", "GEM_HOME" => folder(name),
        "GEM_PATH" => Gem.path.join(File::PATH_SEPARATOR),
        "BUNDLE_LOCKFILE" => nil, "BUNDLER_SETUP" => nil } # Bundler 4 sets them to this process' own
    end

    # @return [Hash{String => String, nil}] the same of a Ruby that is started without `bundle exec`
    def setup_environment(name, without: "others")
      { **environment(name, without: without), "RUBYOPT" => "-rbundler/setup", "RUBYLIB" => nil }
    end

    # @return [String] where the gems are that this process has not
    def folder(name)
      File.join(ROOT, "vendor/bundle", name, Gem.ruby_engine, RbConfig::CONFIG["ruby_version"])
    end

    # @return [Boolean] whether all gems of the set are there
    def installed?(name)
      @installed ||= {}
      @installed.fetch(name) { @installed[name] = bundle(name, "check").last }
    end

    # Says why when it could not.
    # @return [Boolean] whether it could be done
    def install(name, without: "others")
      told, done = bundle(name, "install", "--quiet", "--jobs", "2", "--retry", "3", without: without)
      warn told unless done
      done
    end

    private

    # @return [Array(String, Boolean)] what it printed, and whether it was right
    def bundle(name, *command, without: "others")
      gems = environment(name, without: without)
      told, status = Bundler.with_unbundled_env { Open3.capture2e(gems, "bundle", *command) }
      [told, status.success?]
    end
  end
end
