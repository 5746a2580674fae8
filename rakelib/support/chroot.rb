# frozen_string_literal: true

require "fileutils"
require "shellwords"

# A Debian release in a separate folder, built once and kept outside the checkout, where the suite runs with that
# release's Ruby and OpenSSL. It shares the loopback network with this machine.
class Chroot
  HOME = File.join(ENV.fetch("XDG_CACHE_HOME", File.expand_path("~/.cache")), "trunkline")

  # Packages that a fresh minbase needs before bin/setup can install the rest.
  BASE_PACKAGES = %w[ca-certificates git].freeze

  # A Ruby that is not the release's default provides no plain `ruby` or `bundle`: wrappers of these commands call it.
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

  # Builds into a folder next to `path` and renames it when complete, so that an incomplete one is never used.
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

  # Runs one shell command inside, in /work, with /proc and /dev mounted only while it runs. Returns whether it
  # succeeded; raises instead when it failed and `exception` is true.
  def run(command, root: path, exception: true)
    mounts = "mount -t proc proc #{root.shellescape}/proc && mount --rbind /dev #{root.shellescape}/dev"
    inside = "cd /work 2>/dev/null || cd /; #{command}"
    script = "#{mounts} && exec chroot #{root.shellescape} bash -euo pipefail -c #{inside.shellescape}"
    sh(environment, "unshare", "--mount", "--propagation", "private", "bash", "-euo", "pipefail", "-c", script,
       unsetenv_others: true, exception: exception)
  end

  # Replaces /work inside by the tracked and the unignored files of this checkout, without anything built.
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

  # A clean environment: variables that Bundler, rake or a version manager set for this machine's Ruby must not reach
  # the Ruby inside.
  def environment
    kept = ENV.select { |name, _| name.match?(/\A(TERM|TRUNKLINE_.*|.*_proxy)\z/i) }
    kept.merge("LANG" => "C.UTF-8", "HOME" => "/root", "DEBIAN_FRONTEND" => "noninteractive",
               "PATH" => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
  end

  # The package archive that this machine itself uses, so that its address is not written down here.
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

  # This machine's proxies, and no check of expiry: a mirror of a moving release may be older than its own date of
  # expiry.
  def apt_settings
    proxies = IO.popen(%w[apt-config dump], &:readlines).grep(/\AAcquire::\w+::proxy/i)
    proxies + ["Acquire::Check-Valid-Until \"false\";\n"]
  end

  def add_extra_suite(root)
    File.write(File.join(root, "etc/apt/sources.list.d/#{@extra_suite}.list"), "deb #{archive} #{@extra_suite} main\n")
  end

  # The compiler is installed first, from the release itself: the extra suite would bring another libc with it.
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
