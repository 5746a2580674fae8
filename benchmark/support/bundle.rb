# frozen_string_literal: true

require "digest"
require "rbconfig"
require_relative "cache"
require_relative "processes"

module Bench
  # The gems of one peer, in a Gemfile of its own so that no two peers' versions clash; installed on demand.
  class Bundle
    class Failed < StandardError; end

    INSTALL_SECONDS = 300
    RUBY = "#{RbConfig::CONFIG["RUBY_INSTALL_NAME"]}-#{RUBY_VERSION}".freeze

    def self.for(peer)
      return Ready.new(peer.gemfile) if peer.respond_to?(:gemfile)

      peer.gems.empty? ? Ready.new(nil) : new(peer.id, peer.gems)
    end

    # A bundle that somebody else has installed, or none at all.
    Ready = Struct.new(:gemfile) do
      def install = self

      def environment = Bundle.bare_environment.merge(gemfile ? Bundle.using(gemfile) : {})
    end

    # Whatever Bundler put into our own environment must not reach a peer.
    def self.bare_environment
      ENV.keys.grep(/\A(BUNDLE_GEMFILE|BUNDLE_BIN_PATH|BUNDLER_|RUBYOPT|RUBYLIB|GEM_HOME|GEM_PATH)/).to_h do |key|
        [key, nil]
      end
    end

    def self.using(gemfile) = { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup" }

    def initialize(name, gems)
      @gems = gems
      @folder = Cache.directory(RUBY, name)
    end

    def gemfile = File.join(@folder, "Gemfile")

    def environment
      Bundle.bare_environment.merge(shelf, Bundle.using(gemfile))
    end

    # @raise [Failed] with the reason, when the gems cannot be had on this machine
    def install
      return self if installed?

      File.write(gemfile, content)
      environment = Bundle.bare_environment.merge(shelf, "BUNDLE_GEMFILE" => gemfile)
      output, status = Processes.run("bundle", "install", "--quiet", limit: INSTALL_SECONDS, env: environment,
                                                                     chdir: @folder)
      raise Failed, reason(output) unless status.success?

      File.write(stamp, content)
      self
    end

    private

    def shelf = { "BUNDLE_PATH" => Cache.directory(RUBY, "gems"), "BUNDLE_APP_CONFIG" => @folder }

    def installed? = File.exist?(stamp) && File.read(stamp) == content

    def stamp = File.join(@folder, "installed")

    def content
      lines = @gems.map { |name, requirement| "gem #{name.inspect}, #{requirement.inspect}\n" }
      "source \"https://rubygems.org\"\n#{lines.join}"
    end

    def reason(output)
      lines = output.lines.map(&:strip).reject(&:empty?)
      telling = lines.grep(/could not|cannot|error|requires|not found/i).first || lines.last || "no output"
      "its gems could not be installed: #{telling[0, 160]}"
    end
  end
end
