# frozen_string_literal: true

require "benchmark"
require_relative "../chroot"

# A machine with a Ruby and no compiler, in which a compiled gem is installed and tried.
class Image < Chroot
  TRIAL = File.expand_path("trial.rb", __dir__)
  SECONDS = 5 # limit for installing
  UBUNTU = "http://archive.ubuntu.com/ubuntu"

  # release, ruby, extra_suite: see Chroot
  # archive: a package archive other than Debian's; the toolchain's chroot holds its keyring
  def initialize(release, ruby: "ruby", extra_suite: nil, archive: nil)
    super("empty-#{release}", release: release, ruby: ruby, extra_suite: extra_suite)
    @archive = archive
  end

  # Installs and tries the gems. Prints what it did; raises when something fails.
  #
  # gems: paths of .gem files, with all that they depend on
  def try(gems)
    FileUtils.rm_rf(trial_folder)
    FileUtils.mkdir_p("#{trial_folder}/gems")
    FileUtils.cp([*gems, TRIAL], "#{trial_folder}/gems")
    compilers = Dir["#{path}/usr/bin/{cc,gcc,clang,make}"]
    raise "there is a compiler: #{compilers}" unless compilers.empty?

    seconds = Benchmark.realtime { inside("-S gem install #{install_options} /trial/gems/*.gem") }
    puts format("%<name>s: installed in %<seconds>.1f s", name: name, seconds: seconds)
    raise "installing took longer than #{SECONDS} s" if seconds > limit

    inside("/trial/gems/#{File.basename(TRIAL)}")
  end

  private

  def limit = SECONDS

  # --force: RubyGems before 3.3.22, as in Debian 12, would otherwise choose the gem that has to be compiled.
  def install_options = "--local --force --no-document --quiet --install-dir /trial/home"

  def inside(arguments) = run("GEM_HOME=/trial/home GEM_PATH=/trial/home: #{ruby_command} #{arguments}")

  def ruby_command = @ruby

  def trial_folder = "#{path}/trial"

  def archive = @archive || super

  def debootstrap_options
    return [] unless @archive

    ["--keyring=#{HOME}/native/usr/share/keyrings/ubuntu-archive-keyring.gpg", "--components=main,universe"]
  end

  # Debian's debootstrap has no script named after newer Ubuntu releases; this one serves all of them.
  def debootstrap_script = @archive ? ["/usr/share/debootstrap/scripts/gutsy"] : []

  def install_ruby(root)
    target = @extra_suite ? "--target-release #{@extra_suite}" : ""
    run("apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends #{target} #{@ruby}",
        root: root)
  end
end
