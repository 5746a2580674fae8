# frozen_string_literal: true

require "fileutils"

# A JRuby made of the jars on RubyGems, with the gems of a separate bundle. It needs Java and its `jar` tool.
class JRuby
  VERSION = "9.4.15.0" # Ruby 3.1; the newest version that runs on Java 17
  # JRuby's IO needs access to these packages of Java.
  JAVA = %w[
    java --add-opens java.base/java.io=ALL-UNNAMED --add-opens java.base/java.nio.channels=ALL-UNNAMED
    --add-opens java.base/sun.nio.ch=ALL-UNNAMED -XX:+UseSerialGC
  ].join(" ").freeze
  QUICK = "-XX:TieredStopAtLevel=1"

  # folder: where the JRuby is kept
  # gemfile: the text of the Gemfile with the gems that its programs need
  # java: further options of Java; QUICK, since a suite is over before the better compiler has paid for itself
  def initialize(folder, gemfile:, java: QUICK)
    @folder = folder
    @gemfile = gemfile
    @java = java
  end

  # Builds the parts that do not exist yet.
  def build
    FileUtils.mkdir_p(@folder)
    unpack unless File.exist?(launcher)
    write_launcher
    File.write("#{@folder}/Gemfile", @gemfile)
    run("-S", "bundle", "install", "--quiet", "RUBYOPT" => nil)
  end

  # Runs JRuby with these arguments in the bundle; raises when it fails.
  def run(*arguments, **environment)
    Bundler.with_unbundled_env do
      system(self.environment.merge(environment.transform_keys(&:to_s)), *command, *arguments, exception: true)
    end
  end

  # The command that starts JRuby; #environment returns the variables that it needs.
  def command = [launcher]

  def environment
    { "GEM_HOME" => "#{@folder}/gems", "GEM_PATH" => nil, "RUBYLIB" => nil, "RUBYOPT" => "-rbundler/setup",
      "BUNDLE_GEMFILE" => "#{@folder}/Gemfile",
      "JARS_SKIP" => "true" } # use JRuby's own jars; otherwise Maven would fetch others
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

  # Written at every build, since the options of Java may have changed.
  def write_launcher
    classes = %w[core stdlib].map { |name| Dir["#{jars}/jruby-#{name}-#{VERSION}*.jar"].first }.join(":")
    start = "#{JAVA} #{@java} -Djruby.home='#{home}' -cp '#{classes}' org.jruby.Main"
    File.write(launcher, "#!/bin/sh\nexec #{start} \"$@\"\n")
    FileUtils.chmod("+x", launcher)
  end

  def shell(*command) = system(*command, chdir: @folder, exception: true)
end
