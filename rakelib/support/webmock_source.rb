# frozen_string_literal: true

require "digest"
require "fileutils"
require "rubygems/package"
require "tmpdir"

# The source of WebMock, whose examples are run. Its newer gems do not contain them, so this is the newest gem that
# does, kept in the cache after the first download, or a checkout that WEBMOCK_SOURCE names.
module WebMockSource
  VERSION = "3.18.1"
  SHA256 = "54c955df4ae4bec6181dd266eeec632a1808288c633f9551d81bafb53921d2d7"
  CACHE = File.join(ENV.fetch("XDG_CACHE_HOME", File.expand_path("~/.cache")), "trunkline")

  module_function

  # @return [String, nil] the folder; nil when the gem is neither in the cache nor available
  def path
    given = ENV.fetch("WEBMOCK_SOURCE", "")
    return given unless given.empty?

    folder = File.join(CACHE, "webmock-#{VERSION}")
    File.directory?(folder) || unpack(folder) ? folder : nil
  end

  # Unpacks into another folder and renames that, so that an interrupted run leaves no incomplete source.
  def unpack(folder)
    FileUtils.mkdir_p(CACHE)
    Dir.mktmpdir("webmock", CACHE) do |part|
      gem = fetch(part) or return false

      Gem::Package.new(gem).extract_files(File.join(part, "source"))
      File.rename(File.join(part, "source"), folder)
    end
    true
  rescue Errno::ENOTEMPTY, Errno::EEXIST # another process was faster
    true
  end

  def fetch(folder)
    gem = File.join(folder, "webmock-#{VERSION}.gem")
    fetched = system("gem", "fetch", "webmock", "--version", VERSION, chdir: folder, out: File::NULL, err: File::NULL)
    return unless fetched && File.file?(gem)
    raise "#{File.basename(gem)} is not the gem that was pinned" unless Digest::SHA256.file(gem).hexdigest == SHA256

    gem
  end

  private_class_method :unpack, :fetch
end
