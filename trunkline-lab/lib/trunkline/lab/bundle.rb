# frozen_string_literal: true

require "etc"
require "rbconfig"
require_relative "cache"
require_relative "processes"

module Trunkline
  module Lab
    # The gems that a child process needs, in a separate Gemfile, so that the versions of two peers cannot conflict.
    # Installed gems are used first. Others are downloaded into the lab's cache, but only if Bundle.download is set.
    class Bundle
      # Raised when the gems of a peer cannot be installed.
      class Failed < StandardError; end

      INSTALL_SECONDS = 300
      RUBY = "#{RbConfig::CONFIG["RUBY_INSTALL_NAME"]}-#{RUBY_VERSION}".freeze
      BUNDLER_VARIABLES = /\A(BUNDLE_|BUNDLER_|RUBYOPT|RUBYLIB|GEM_HOME|GEM_PATH)/

      class << self
        # Whether gems may be downloaded (--install).
        attr_accessor :download

        # @return [Hash] unsets the variables that Bundler has set in this process, so that a child does not inherit
        #   them. GEM_HOME and GEM_PATH are kept unless this process runs under Bundler.
        def bare_environment
          names = ENV.keys.grep(BUNDLER_VARIABLES)
          names -= %w[GEM_HOME GEM_PATH] unless ENV.key?("BUNDLE_GEMFILE")
          names.to_h { |key| [key, nil] }
        end

        # Load paths that a child needs to use gems that are loaded in this process.
        def load_paths(*names)
          names.flat_map { |name| local_spec(name)&.full_require_paths || [] }
        end

        # @return [Gem::Specification, nil]
        def local_spec(name)
          Gem.loaded_specs[name] || Gem::Specification.find_by_name(name)
        rescue Gem::MissingSpecError
          nil
        end
      end

      # @param name [String] of the folder for these gems
      # @param gems [Hash{String => String}] name => requirement
      def initialize(name, gems)
        @gems = gems
        @folder = Cache.directory(RUBY, name) if gems.any?
      end

      # @return [Hash] environment variables for the child
      # @raise [Failed]
      def environment
        return self.class.bare_environment if @gems.empty?

        with_lock { install unless installed? } unless installed?
        settings = gem_path(File.read(stamp).start_with?("shelf"))
        self.class.bare_environment.merge(settings, "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup")
      end

      private

      def gemfile = File.join(@folder, "Gemfile")
      def stamp = File.join(@folder, "installed")

      def installed?
        File.exist?(stamp) && %w[shelf system].any? { |location| File.read(stamp) == "#{location}\n#{content}" }
      end

      # Only one process at a time may install, because Bundler must not write to the same gem folder concurrently.
      def with_lock
        File.open(File.join(Cache.directory(RUBY), "lock"), "w") do |lock|
          lock.flock(File::LOCK_EX)
          yield
        end
      end

      def install
        File.write(gemfile, content)
        %w[system shelf].each do |location|
          output, status = bundle_install(location)
          return File.write(stamp, "#{location}\n#{content}") if status.success?

          @output = output
        end
        raise Failed, reason
      end

      # Deletes the lock file of an earlier attempt: it may name versions from the other gem folder.
      def bundle_install(location)
        lock = "#{gemfile}.lock"
        FileUtils.rm_f(lock)
        command = ["bundle", "install", "--quiet"]
        command << "--local" unless location == "shelf" && self.class.download
        settings = gem_path(location == "shelf")
        environment = self.class.bare_environment.merge(settings, "BUNDLE_GEMFILE" => gemfile,
                                                                  "MAKEFLAGS" => "-j#{Etc.nprocessors}")
        Processes.run(*command, limit: INSTALL_SECONDS, env: environment, chdir: @folder)
      end

      def gem_path(in_cache)
        settings = { "BUNDLE_APP_CONFIG" => @folder }
        in_cache ? settings.merge("BUNDLE_PATH" => Cache.directory(RUBY, "gems")) : settings
      end

      def content
        lines = @gems.map { |name, requirement| "gem #{name.inspect}, #{requirement.inspect}\n" }
        "source \"https://rubygems.org\"\n#{lines.join}"
      end

      def reason
        return "not installed (gem install #{@gems.keys.join(" ")}, or add --install)" unless self.class.download

        lines = @output.lines.map(&:strip).reject(&:empty?)
        cause = lines.grep(/could not|cannot|error|requires|not found/i).first || lines.last || "no output"
        "its gems could not be installed: #{cause[0, 160]}"
      end
    end
  end
end
