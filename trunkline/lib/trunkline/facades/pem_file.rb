# frozen_string_literal: true

require "tempfile"
require_relative "../errors"
require_relative "../lock"
require_relative "../memo"

module Trunkline
  module Facades
    # Certificates and keys that a caller has as objects or text, written to files, because the engine reads files. Each
    # text is written once, readable by the current user only, and deleted when the process ends.
    module PemFile
      LOCK = Lock.new
      CACHE_LIMIT = 256
      private_constant :LOCK, :CACHE_LIMIT

      @files = {}
      @stamps = {}

      class << self
        # @param source [String, #to_path, #to_pem, Array] a path, PEM text, an OpenSSL certificate or private key, or
        #   an Array of those for one file: a certificate and its chain
        # @return [String] a path
        # @raise [InvalidRequest] for a key that OpenSSL cannot write
        def path(source)
          return source.to_path if source.respond_to?(:to_path)
          return source if source.is_a?(String) && !source.include?("-----BEGIN")

          text = Array(source).map { |one| pem(one) }.join("\n")
          LOCK.synchronize { @files[text] ||= write(text) }.path
        end

        # @param path [String, nil]
        # @return [Time, nil] the time of the file's last change; while the file cannot be examined, the previous one
        def stamp(path)
          path && Memo.keep(@stamps, CACHE_LIMIT, path, File.mtime(path))
        rescue SystemCallError, ArgumentError, TypeError # no such file, or no path
          @stamps[path]
        end

        private

        def pem(object)
          return private_pem(object) if object.respond_to?(:private_to_pem)

          object.respond_to?(:to_pem) ? object.to_pem : object.to_s
        end

        def private_pem(key)
          key.private_to_pem
        rescue OpenSSL::PKey::PKeyError => error
          raise InvalidRequest, "a key that cannot be read (#{error.message})"
        end

        def write(text)
          Tempfile.new(%w[trunkline .pem]).tap do |file|
            file.write(text)
            file.close
          end
        end
      end
    end
  end
end
