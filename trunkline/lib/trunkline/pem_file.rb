# frozen_string_literal: true

require "tempfile"
require_relative "memo"

module Trunkline
  # Certificates and keys that a caller has as objects or text, as the files that the engine reads. Each text is
  # written once, readable by this user alone, and removed when the process ends.
  module PemFile
    LOCK = Mutex.new
    KNOWN = 256
    private_constant :LOCK, :KNOWN

    @files = {}
    @stamps = {}

    # @param given [String, #to_pem, Array] a path, PEM text, a certificate or key of OpenSSL, or several of them in
    #   one file: a certificate and its chain
    # @return [String] a path
    def self.path(given)
      return given.to_path if given.respond_to?(:to_path)
      return given if given.is_a?(String) && !given.include?("-----BEGIN")

      text = Array(given).map { |one| one.respond_to?(:to_pem) ? one.to_pem : one.to_s }.join("\n")
      LOCK.synchronize { @files[text] ||= write(text) }.path
    end

    # @param path [String, nil]
    # @return [Time, nil] another one when the file has changed; while it cannot be looked at, the last one
    def self.stamp(path)
      path && Memo.keep(@stamps, KNOWN, path, File.mtime(path))
    rescue SystemCallError, ArgumentError, TypeError # no such file, or no path
      @stamps[path]
    end

    def self.write(text)
      Tempfile.new(%w[trunkline .pem]).tap do |file|
        file.write(text)
        file.close
      end
    end
    private_class_method :write
  end
end
