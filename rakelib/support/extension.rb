# frozen_string_literal: true

require "etc"
require "rbconfig"

# One C extension of this repository: configured and made under tmp/, one folder for each Ruby, and its
# .so put where `require` finds it in the checkout.
class Extension
  SWITCHES = %w[PEDANTIC DEBUG SANITIZE SCALAR].freeze

  attr_reader :name, :source, :library

  # name: the .so's base name; source: the folder with extconf.rb; library: the folder for the .so
  def initialize(name, source:, library:)
    @name = name
    @source = source
    @library = library
  end

  def target = File.join(library, "#{name}.#{RbConfig::CONFIG["DLEXT"]}")

  # flavour: names a build folder of its own ("pedantic-clang"); environment: the switches for extconf.rb;
  # compiler: another than the one that built the Ruby. Returns the path of the .so.
  def make(flavour: "default", environment: {}, compiler: nil)
    folder = File.join(ROOT, "tmp", "ext", "ruby-#{RUBY_VERSION}-#{RUBY_PLATFORM}", name, flavour)
    FileUtils.mkdir_p(folder)
    configure(folder, environment)
    run(folder, "make", "--silent", "-j#{Etc.nprocessors}", *("CC=#{compiler}" if compiler))
    File.join(folder, File.basename(target))
  end

  # switches: as extconf.rb reads them from the environment; each set has a build folder of its own.
  def build(switches = ENV.slice(*SWITCHES))
    flavour = switches.empty? ? "default" : switches.to_a.join("-").tr("^A-Za-z0-9-", "_")
    made = make(flavour: flavour, environment: switches)
    return if File.exist?(target) && FileUtils.identical?(made, target)

    FileUtils.mkdir_p(library)
    FileUtils.rm_f(target) # a process that has the old one mapped keeps it
    FileUtils.cp(made, target)
  end

  private

  # Again when extconf.rb, the list of sources or the switches are others than those of the last time.
  def configure(folder, environment)
    stamp = File.join(folder, "configured")
    configuration = [File.read(File.join(source, "extconf.rb")), Dir.glob("**/*.c", base: source).sort,
                     RUBY_DESCRIPTION, environment].inspect
    return if File.exist?(stamp) && File.exist?(File.join(folder, "Makefile")) && File.read(stamp) == configuration

    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p(folder)
    run(folder, RbConfig.ruby, File.join(source, "extconf.rb"), environment: environment)
    File.write(stamp, configuration)
  end

  def run(folder, *command, environment: {})
    log = File.join(folder, "#{File.basename(command.first)}.log")
    done = system(environment, *command, chdir: folder, out: log, err: %i[child out])
    abort "#{File.read(log)}\n#{command.join(" ")} failed in #{folder}" unless done
  end
end
