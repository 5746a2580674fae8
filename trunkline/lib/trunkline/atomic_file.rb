# frozen_string_literal: true

require "securerandom"

module Trunkline
  # Files that whoever reads meanwhile, or after a crash, finds whole.
  #
  # @api private
  module AtomicFile
    # Writes another file and renames it. It is for its owner alone from the beginning.
    #
    # @param path [String]
    # @param parts [Array<String>]
    # @return [void]
    # @raise [SystemCallError]
    def self.write(path, *parts)
      # The file that a link leads to is replaced, not the link.
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
