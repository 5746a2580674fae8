# frozen_string_literal: true

require "json"
require_relative "../atomic_file"
require_relative "../bytes_as_text"
require_relative "../errors"

module Trunkline
  class Download
    # The downloaded part of a file, next to the target: "name.part" holds the bytes, and "name.part.json" describes
    # them, so that another process can resume the download. A lock (flock) gives one process at a time access to it.
    #
    # @api private
    class PartialFile
      # Description of the downloaded bytes; nil before the first response.
      #
      #   url        String, a digest of the URL, which may hold a credential
      #   validator  String, for If-Range (RFC 9110 13.1.5); nil: the download cannot be resumed
      #   total      Integer or nil, bytes of the whole file
      #   parts      Array of [first byte, byte after the last or nil, number of downloaded bytes]
      Metadata = Struct.new(:url, :validator, :total, :parts, keyword_init: true)

      # @param target [String] path of the whole file
      # @raise [InvalidRequest] when it cannot be the path of a file
      # @raise [Errno::EACCES] when its directory is not writable
      def self.check(target)
        raise InvalidRequest.of("to", target, "the path of a file, and it is a directory") if File.directory?(target)

        folder = File.dirname(target)
        raise InvalidRequest.of("to", target, "a path in a directory that exists") unless File.directory?(folder)
        raise Errno::EACCES, target unless File.writable?(folder)
      end

      # @return [Metadata, nil]
      attr_reader :metadata

      # @param target [String]
      # @raise [DownloadError] when another process or download has locked it
      # @raise [SystemCallError]
      def initialize(target)
        @target = target
        @path = "#{target}.part"
        @file = open_locked
        @metadata = read_metadata
      end

      def fileno = @file.fileno

      # @return [Integer] size of the file, holes included
      def bytes = @file.size

      # Empties the file for a new download.
      # @param metadata [Metadata, nil]
      def start(metadata)
        @file.truncate(0)
        write_metadata(metadata)
      end

      # The bytes of several parts are synced to disk before the metadata that counts them. The file size shows after a
      # power failure how much of a single part was written, but not of several parts.
      # @param metadata [Metadata, nil]
      def write_metadata(metadata)
        @metadata = metadata
        return delete(metadata_path) unless metadata&.validator

        @file.fsync if metadata.parts.size > 1
        members = { **metadata.to_h, validator: BytesAsText.text(metadata.validator) }
        AtomicFile.write(metadata_path, JSON.generate(members))
      end

      # @return [IO] the bytes, for digests
      def io = @file.tap(&:rewind)

      # Renames the complete file to its target.
      def finish
        File.rename(@path, @target)
        delete(metadata_path)
        close
      end

      # Closes the file; keeps it only if a later call can resume the download.
      def keep_or_remove
        remove if !@file.closed? && (@metadata&.validator.nil? || bytes.zero?)
        close
      end

      def remove
        delete(@path)
        delete(metadata_path)
        close
      end

      private

      # The previous owner of the lock may have renamed or deleted the file before this process got the lock, so the
      # path is compared with the locked file.
      def open_locked
        loop do
          file = File.new(@path, File::RDWR | File::CREAT, binmode: true)
          locked = file.flock(File::LOCK_EX | File::LOCK_NB)
          return file if locked && File.identical?(@path, file)

          file.close
          next if locked

          raise DownloadError.new("#{@target} is being downloaded by somebody else; nothing was sent",
                                  phase: :queue, sent: :none)
        end
      end

      def delete(path)
        File.delete(path)
      rescue SystemCallError
        nil # the file does not exist or cannot be deleted
      end

      def close
        @file.close unless @file.closed?
      end

      def metadata_path = "#{@path}.json"

      # Malformed metadata counts as missing.
      def read_metadata
        read = JSON.parse(File.read(metadata_path, encoding: Encoding::UTF_8))
        metadata = Metadata.new(**read.slice(*Metadata.members.map(&:to_s)).transform_keys(&:to_sym))
        return unless metadata.parts.is_a?(Array) && metadata.parts.all? { |part| part?(part) }

        metadata.validator = BytesAsText.bytes(metadata.validator)
        metadata
      rescue SystemCallError, JSON::ParserError, EncodingError, NoMethodError, ArgumentError
        nil
      end

      def part?(part)
        from, to, done = part
        part.is_a?(Array) && from.is_a?(Integer) && (to.nil? || to.is_a?(Integer)) && done.is_a?(Integer) &&
          done >= 0 && (to.nil? || from + done <= to)
      end
    end
  end
end
