# frozen_string_literal: true

require "json"
require_relative "../atomic_file"
require_relative "../bytes_as_text"
require_relative "../errors"

module Trunkline
  class Download
    # What is there of a file, beside it: "name.part" has the bytes, and "name.part.json" says of what they are, so that
    # another process can go on. One process at a time has it (flock).
    #
    # @api private
    class PartialFile
      # Of what the bytes are; nil before the first answer.
      #
      #   url        String, a digest of it: a URL may hold a credential
      #   validator  String, for If-Range (RFC 9110 13.1.5); nil: it cannot be gone on with
      #   total      Integer or nil, bytes of the whole
      #   parts      Array of [first byte, byte after the last or nil, bytes that are there]
      Notes = Struct.new(:url, :validator, :total, :parts, keyword_init: true)

      # @param target [String] path of the whole file
      # @raise [InvalidRequest] when it cannot be the path of a file
      # @raise [Errno::EACCES] when its directory may not be written to
      def self.check(target)
        raise InvalidRequest.of("to", target, "the path of a file, and it is a directory") if File.directory?(target)

        folder = File.dirname(target)
        raise InvalidRequest.of("to", target, "a path in a directory that exists") unless File.directory?(folder)
        raise Errno::EACCES, target unless File.writable?(folder)
      end

      # @return [Notes, nil]
      attr_reader :notes

      # @param target [String]
      # @raise [DownloadError] when another has it
      # @raise [SystemCallError]
      def initialize(target)
        @target = target
        @path = "#{target}.part"
        @file = open_locked
        @notes = read_notes
      end

      def fileno = @file.fileno

      # @return [Integer] holes included
      def bytes = @file.size

      # Begins anew.
      # @param notes [Notes, nil]
      def start(notes)
        @file.truncate(0)
        note(notes)
      end

      # The bytes of several parts are on the disk before the notes that count them: after a power failure they are not
      # all within the file's size, as those of a single part are.
      # @param notes [Notes, nil]
      def note(notes)
        @notes = notes
        return delete(notes_path) unless notes&.validator

        @file.fsync if notes.parts.size > 1
        AtomicFile.write(notes_path, JSON.generate({ **notes.to_h, validator: BytesAsText.text(notes.validator) }))
      end

      # @return [IO] the bytes, for digests
      def io = @file.tap(&:rewind)

      # The whole is there: it gets its name.
      def finish
        File.rename(@path, @target)
        delete(notes_path)
        close
      end

      # Keeps what a later call can go on with.
      def leave
        remove if !@file.closed? && (@notes&.validator.nil? || bytes.zero?)
        close
      end

      def remove
        delete(@path)
        delete(notes_path)
        close
      end

      private

      # Until it was locked, who had it may have given it the name of the whole, or deleted it.
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
        nil # it is not there, or not to be deleted
      end

      def close
        @file.close unless @file.closed?
      end

      def notes_path = "#{@path}.json"

      # What is malformed is as good as nothing.
      def read_notes
        read = JSON.parse(File.read(notes_path, encoding: Encoding::UTF_8))
        notes = Notes.new(**read.slice(*Notes.members.map(&:to_s)).transform_keys(&:to_sym))
        return unless notes.parts.is_a?(Array) && notes.parts.all? { |part| part?(part) }

        notes.validator = BytesAsText.bytes(notes.validator)
        notes
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
