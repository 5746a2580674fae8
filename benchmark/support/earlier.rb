# frozen_string_literal: true

require "etc"
require "fileutils"
require "rbconfig"
require_relative "lab"

module Bench
  # Trunkline at another commit of this repository, built once by this Ruby and kept in the cache.
  module Earlier
    ROOT = File.expand_path("../..", __dir__)
    SECONDS_TO_COMPILE = 300

    # Raised when that version cannot be built.
    class Missing < StandardError; end

    module_function

    # @param commit [String]
    # @return [String] the folder to require "trunkline" from
    # @raise [Missing]
    def library(commit)
      whole = git("rev-parse", "--verify", "--quiet", "#{commit}^{commit}").strip
      folder = File.join(Cache.directory(Bundle::RUBY), "trunkline-#{whole[0, 12]}")
      library = File.join(folder, "trunkline", "lib")
      build(whole, folder) unless File.exist?(extension(library))
      library
    end

    def extension(library) = File.join(library, "trunkline", "trunkline.#{RbConfig::CONFIG["DLEXT"]}")

    # Builds in a folder next to `folder` and renames it at the end, so that an incomplete build is never used.
    def build(commit, folder)
      making = "#{folder}.#{Process.pid}"
      FileUtils.mkdir_p(making)
      git("archive", "--output", "#{making}/archive.tar", commit, "trunkline")
      run("tar", "-xf", "archive.tar", chdir: making)
      source = File.join(making, "trunkline", "ext", "trunkline")
      run(RbConfig.ruby, "extconf.rb", chdir: source)
      run("make", "--silent", "-j#{Etc.nprocessors}", chdir: source)
      made = extension(source.sub(%r{/ext/trunkline\z}, "/lib"))
      FileUtils.cp(File.join(source, File.basename(made)), made)
      FileUtils.rm_rf(folder)
      File.rename(making, folder)
    ensure
      FileUtils.rm_rf(making)
    end

    def git(*command) = run("git", "-C", ROOT, *command)

    def run(*command, **options)
      output, status = Processes.run(*command, limit: SECONDS_TO_COMPILE, env: Bundle.bare_environment, **options)
      return output if status.success?

      raise Missing, "#{command.first(4).join(" ")} failed: #{output.lines.last.to_s.strip}"
    end
  end
end
