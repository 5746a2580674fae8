# frozen_string_literal: true

require "securerandom"

module Trunkline
  # Writes files so that concurrent readers, and readers after a crash, never see a part of the contents.
  #
  # @api private
  module AtomicFile
    # Writes a temporary file with mode 0600, syncs it, and renames it to path.
    #
    # @param path [String] a symbolic link is followed: its target is replaced
    # @param parts [Array<String>] contents, written one after another
    # @return [void]
    # @raise [SystemCallError] when the file cannot be written; the temporary file is removed then
    def self.write(path, *parts)
      path = File.realpath(path) if File.symlink?(path)
      temporary = "#{path}.#{SecureRandom.hex(6)}"
      File.open(temporary, File::WRONLY | File::CREAT | File::EXCL, 0o600, binmode: true) do |file|
        file.write(*parts)
        file.fsync
      end
      File.rename(temporary, path)
    ensure
      File.unlink(temporary) if temporary && File.exist?(temporary)
    end
  end
end
