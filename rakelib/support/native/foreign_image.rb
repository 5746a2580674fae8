# frozen_string_literal: true

require_relative "image"

# An image of another processor, run by qemu as a single process: no program in it can start another one.
class ForeignImage < Image
  QEMU = "/usr/bin/qemu-aarch64-static"

  def initialize(release, ruby:)
    super
    @name = "aarch64-#{release}"
  end

  # All packages are unpacked, but their scripts are not run.
  def build
    return if File.directory?(path)

    partial = "#{path}.partial"
    FileUtils.rm_rf(partial)
    sh("debootstrap", "--foreign", "--arch=arm64", "--variant=minbase", "--include=#{@ruby},ca-certificates",
       @release, partial, archive)
    Dir["#{partial}/var/cache/apt/archives/*.deb"].each { |package| sh("dpkg-deb", "--extract", package, partial) }
    FileUtils.cp("#{HOME}/native#{QEMU}", "#{partial}#{QEMU}")
    FileUtils.cp("/etc/hosts", "#{partial}/etc/hosts")
    File.rename(partial, path)
  end

  # Runs without a shell: that would be a second program.
  def run(command, root: path, **)
    sh(environment.merge("GEM_HOME" => "/trial/home", "GEM_PATH" => "/trial/home:", "HOME" => "/tmp"),
       "chroot", root, *command.split, unsetenv_others: true)
  end

  private

  # Most of the time is spent by qemu, not by installing the gem.
  def limit = 20 * SECONDS

  def inside(arguments)
    gems = Dir["#{trial_folder}/gems/*.gem"].map { |file| file.delete_prefix(path) }
    arguments = arguments.sub("-S gem", "/usr/bin/gem").sub("/trial/gems/*.gem", gems.join(" "))
    run("#{QEMU} /usr/bin/#{@ruby} #{arguments}")
  end
end
