# frozen_string_literal: true

require "fileutils"

# A JRuby made of the jars that RubyGems has, with the gems of a bundle of its own. It needs Java and its `jar` tool.
class JRuby
  VERSION = "9.4.15.0" # Ruby 3.1; the newest that runs on Java 17
  # What Ruby's IO needs of Java's own classes; a suite is over before the better compiler has paid for itself.
  JAVA = %w[
    java --add-opens java.base/java.io=ALL-UNNAMED --add-opens java.base/java.nio.channels=ALL-UNNAMED
    --add-opens java.base/sun.nio.ch=ALL-UNNAMED -XX:+UseSerialGC
  ].join(" ").freeze
  QUICK = "-XX:TieredStopAtLevel=1"

  # folder: where it is kept
  # gemfile: Ruby for the Gemfile of what its programs need
  # java: further options of Java
  def initialize(folder, gemfile:, java: QUICK)
    @folder = folder
    @gemfile = gemfile
    @java = java
  end

  # Builds what is not there yet.
  def build
    FileUtils.mkdir_p(@folder)
    unpack unless File.exist?(launcher)
    write_launcher
    File.write("#{@folder}/Gemfile", @gemfile)
    run("-S", "bundle", "install", "--quiet", "RUBYOPT" => nil)
  end

  # Runs Ruby's command line in the bundle; raises when it fails.
  def run(*arguments, **environment)
    Bundler.with_unbundled_env do
      system(self.environment.merge(environment.transform_keys(&:to_s)), *command, *arguments, exception: true)
    end
  end

  # What starts it, and the variables that it needs.
  def command = [launcher]

  def environment
    { "GEM_HOME" => "#{@folder}/gems", "GEM_PATH" => nil, "RUBYLIB" => nil, "RUBYOPT" => "-rbundler/setup",
      "BUNDLE_GEMFILE" => "#{@folder}/Gemfile",
      "JARS_SKIP" => "true" } # JRuby's own jars serve; others Maven would fetch
  end

  private

  def home = "#{@folder}/META-INF/jruby.home"
  def launcher = "#{home}/bin/jruby"
  def jars = "#{@folder}/jruby-jars-#{VERSION}/lib"

  def unpack
    shell("gem", "fetch", "jruby-jars", "--version", VERSION)
    shell("gem", "unpack", "jruby-jars-#{VERSION}.gem")
    shell("jar", "xf", "#{jars}/jruby-stdlib-#{VERSION}.jar", "META-INF/jruby.home")
  end

  # Each time, since the options of Java may be others.
  def write_launcher
    classes = %w[core stdlib].map { |name| Dir["#{jars}/jruby-#{name}-#{VERSION}*.jar"].first }.join(":")
    start = "#{JAVA} #{@java} -Djruby.home='#{home}' -cp '#{classes}' org.jruby.Main"
    File.write(launcher, "#!/bin/sh\nexec #{start} \"$@\"\n")
    FileUtils.chmod("+x", launcher)
  end

  def shell(*command) = system(*command, chdir: @folder, exception: true)
end
