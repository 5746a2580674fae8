# frozen_string_literal: true

require "fileutils"
require "shellwords"

# One Debian release in a folder of its own, built once and kept outside the checkout, where the suite
# runs with that release's Ruby and OpenSSL. It shares the loopback network with this machine.
class Chroot
  HOME = File.join(ENV.fetch("XDG_CACHE_HOME", File.expand_path("~/.cache")), "trunkline")

  # What a fresh minbase needs before bin/setup can do the rest.
  BASE_PACKAGES = %w[ca-certificates git].freeze

  # A Ruby that is not the release's default has no plain `ruby` or `bundle`: these stand in for them.
  WRAPPED_COMMANDS = %w[gem bundle rake].freeze

  attr_reader :name

  # name: the folder under HOME
  # release: Debian's name of the release
  # ruby: the Ruby's command and package
  # extra_suite: a further suite of the same archive from which the Ruby comes (or nil)
  def initialize(name, release: name, ruby: "ruby", extra_suite: nil)
    @name = name
    @release = release
    @ruby = ruby
    @extra_suite = extra_suite
  end

  def path = File.join(HOME, name)

  # Builds into a folder beside, renamed when complete, so that a half-built one is never used.
  def build
    return if File.directory?(path)

    partial = "#{path}.partial"
    FileUtils.rm_rf(partial)
    FileUtils.mkdir_p(HOME)
    sh("debootstrap", "--variant=minbase", "--include=#{BASE_PACKAGES.join(",")}", *debootstrap_options,
       @release, partial, archive, *debootstrap_script)
    adopt_network_settings(partial)
    add_extra_suite(partial) if @extra_suite
    install_ruby(partial)
    File.rename(partial, path)
  end

  # Runs one shell command inside, in /work, with /proc and /dev mounted for just as long as it runs.
  # Returns whether it succeeded, or raises when it did not.
  def run(command, root: path, exception: true)
    mounts = "mount -t proc proc #{root.shellescape}/proc && mount --rbind /dev #{root.shellescape}/dev"
    inside = "cd /work 2>/dev/null || cd /; #{command}"
    script = "#{mounts} && exec chroot #{root.shellescape} bash -euo pipefail -c #{inside.shellescape}"
    sh(environment, "unshare", "--mount", "--propagation", "private", "bash", "-euo", "pipefail", "-c", script,
       unsetenv_others: true, exception: exception)
  end

  # Replaces /work inside by this checkout: what git knows and what it would add, nothing built.
  def copy_checkout(from)
    work = File.join(path, "work")
    FileUtils.rm_rf(work)
    FileUtils.mkdir_p(work)
    sh("bash", "-euo", "pipefail", "-c", <<~SHELL)
      cd #{from.shellescape}
      git ls-files --cached --others --exclude-standard -z |
        tar --create --null --ignore-failed-read --files-from - | tar --extract --directory #{work.shellescape}
    SHELL
  end

  private

  def debootstrap_options = []
  def debootstrap_script = []

  # A clean one: what Bundler, rake or a version manager set for this machine's Ruby is not for the one inside.
  def environment
    kept = ENV.select { |name, _| name.match?(/\A(TERM|TRUNKLINE_.*|.*_proxy)\z/i) }
    kept.merge("LANG" => "C.UTF-8", "HOME" => "/root", "DEBIAN_FRONTEND" => "noninteractive",
               "PATH" => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
  end

  # The archive that this machine itself uses; its address is nobody's business but the machine's.
  def archive
    format = "$(REPO_URI)"
    uris = IO.popen(["apt-get", "indextargets", "--format", format, "Identifier: Packages", "Label: Debian"], &:read)
    uris.lines(chomp: true).first || raise("this machine's apt knows no Debian archive")
  end

  def adopt_network_settings(root)
    %w[/etc/resolv.conf /etc/hosts].each { |file| FileUtils.cp(file, File.join(root, file)) }
    File.write(File.join(root, "etc/apt/apt.conf.d/99trunkline"), apt_settings.join)
    authorities = Dir["/usr/local/share/ca-certificates/*.crt"]
    FileUtils.cp(authorities, File.join(root, "usr/local/share/ca-certificates"))
    run("update-ca-certificates", root: root)
  end

  # The machine's proxies, and patience: a copy of a moving release may be older than its own date of expiry.
  def apt_settings
    proxies = IO.popen(%w[apt-config dump], &:readlines).grep(/\AAcquire::\w+::proxy/i)
    proxies + ["Acquire::Check-Valid-Until \"false\";\n"]
  end

  def add_extra_suite(root)
    File.write(File.join(root, "etc/apt/sources.list.d/#{@extra_suite}.list"), "deb #{archive} #{@extra_suite} main\n")
  end

  # The compiler comes first, from the release itself: the extra suite would bring another libc with it.
  def install_ruby(root)
    install = "apt-get install --yes --no-install-recommends"
    target = @extra_suite ? "--target-release #{@extra_suite}" : ""
    run("apt-get update && #{install} build-essential && " \
        "#{install} #{target} #{@ruby} #{@ruby}-dev && #{install} bundler", root: root)
    return if @ruby == "ruby"

    bin = File.join(root, "usr/local/bin")
    write_command(File.join(bin, "ruby"), "exec #{@ruby} \"$@\"")
    WRAPPED_COMMANDS.each do |command|
      write_command(File.join(bin, command), "exec #{@ruby} -S /usr/bin/#{command} \"$@\"")
    end
  end

  def write_command(file, line)
    File.write(file, "#!/bin/sh\n#{line}\n")
    File.chmod(0o755, file)
  end

  def sh(*command, exception: true, **options)
    system(*command, exception: exception, **options)
  end
end
