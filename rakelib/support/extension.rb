# frozen_string_literal: true

require "etc"
require "rbconfig"

# One C extension of this repository: configured and made under tmp/, one folder for each Ruby, and its
# .so put where `require` finds it in the checkout.
class Extension
  SWITCHES = %w[PEDANTIC DEBUG SANITIZE SCALAR TRUNKLINE_POLL].freeze

  attr_reader :name, :target

  # extconf: the path of <gem>/ext/<name>/extconf.rb, whose create_makefile names the feature to require.
  def initialize(extconf)
    @source = File.dirname(extconf)
    feature = File.read(extconf)[/create_makefile\("(.+)"\)/, 1]
    @name = File.basename(feature)
    @target = File.join(File.expand_path("../../lib", @source), "#{feature}.#{RbConfig::CONFIG["DLEXT"]}")
  end

  # flavour: the name of the build folder ("pedantic"); environment: the switches for extconf.rb. Returns the path of
  # the .so.
  def make(flavour: "default", environment: {})
    folder = configured(flavour, environment)
    run(folder, "make", "--silent", "-j#{Etc.nprocessors}")
    File.join(folder, File.basename(target))
  end

  # Compiles the sources with a compiler other than the one that built Ruby, for its warnings alone: nothing is
  # generated or linked. The Makefile's -c is then unused, of which newer versions of clang warn.
  def check(flavour:, environment:, compiler:)
    folder = configured(flavour, environment)
    run(folder, "make", "--silent", "-j#{Etc.nprocessors}",
        "CC=#{compiler} -fsyntax-only -Wno-unused-command-line-argument", "LDSHARED=true")
  end

  # Copies the default build with its objects into a separate folder. Returns the path of the .so.
  def copy(flavour:)
    made = make
    folder = folder_of(flavour)
    FileUtils.rm_rf(folder)
    FileUtils.cp_r(File.dirname(made), folder, preserve: true)
    File.join(folder, File.basename(target))
  end

  # switches: the environment variables that extconf.rb reads; each set of them has a separate build folder.
  def build(switches = ENV.slice(*SWITCHES))
    flavour = switches.empty? ? "default" : switches.to_a.join("-").tr("^A-Za-z0-9-", "_")
    made = make(flavour: flavour, environment: switches)
    return puts("#{name} is optional and was not built: see #{File.dirname(made)}/mkmf.log") unless File.exist?(made)
    return if File.exist?(target) && FileUtils.identical?(made, target)

    FileUtils.mkdir_p(File.dirname(target))
    FileUtils.rm_f(target) # a process that has mapped the old file keeps it
    FileUtils.cp(made, target)
  end

  private

  def folder_of(flavour) = File.join(ROOT, "tmp", "ext", "ruby-#{RUBY_VERSION}-#{RUBY_PLATFORM}", name, flavour)

  def configured(flavour, environment)
    folder = folder_of(flavour)
    FileUtils.mkdir_p(folder)
    configure(folder, environment)
    folder
  end

  # Runs extconf.rb again when it, the list of sources, the switches, Ruby, or the folder of the checkout has changed
  # since the last time.
  def configure(folder, environment)
    stamp = File.join(folder, "configured")
    configuration = [@source, File.read(File.join(@source, "extconf.rb")), Dir.glob("**/*.c", base: @source).sort,
                     RUBY_DESCRIPTION, environment].inspect
    return if File.exist?(stamp) && File.exist?(File.join(folder, "Makefile")) && File.read(stamp) == configuration

    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p(folder)
    run(folder, RbConfig.ruby, File.join(@source, "extconf.rb"), environment: environment)
    File.write(stamp, configuration)
  end

  def run(folder, *command, environment: {})
    log = File.join(folder, "#{File.basename(command.first)}.log")
    done = system(environment, *command, chdir: folder, out: log, err: %i[child out])
    abort "#{File.read(log)}\n#{command.join(" ")} failed in #{folder}" unless done
  end
end
