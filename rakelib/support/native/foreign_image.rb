# frozen_string_literal: true

require_relative "image"

# The same of another processor, whose one process qemu runs: nothing in it can start another program.
class ForeignImage < Image
  QEMU = "/usr/bin/qemu-aarch64-static"

  def initialize(release, ruby:)
    super
    @name = "aarch64-#{release}"
  end

  # No package's scripts are run: all are unpacked.
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

  # Without a shell: it would be a second program.
  def run(command, root: path, **)
    sh(environment.merge("GEM_HOME" => "/trial/home", "GEM_PATH" => "/trial/home:", "HOME" => "/tmp"),
       "chroot", root, *command.split, unsetenv_others: true)
  end

  private

  # Most of the time is qemu's, not the gem's.
  def limit = 20 * SECONDS

  def inside(arguments)
    gems = Dir["#{trial_folder}/gems/*.gem"].map { |file| file.delete_prefix(path) }
    arguments = arguments.sub("-S gem", "/usr/bin/gem").sub("/trial/gems/*.gem", gems.join(" "))
    run("#{QEMU} /usr/bin/#{@ruby} #{arguments}")
  end
end
