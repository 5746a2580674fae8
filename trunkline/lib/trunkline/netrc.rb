# frozen_string_literal: true

require_relative "errors"
require_relative "redacted"

module Trunkline
  # Logins by host from a netrc file, as ftp, curl and git read it: machine, default, login, password and account;
  # macdef is skipped. Values may be in quotes, with \ before a quote.
  class Netrc
    include Redacted

    TOKEN = /"((?:[^"\\]|\\.)*)"|(\S+)/m

    # @param path [String, true] true: the path in the environment variable NETRC, or ~/.netrc; this file may be missing
    # @return [Netrc]
    # @raise [InvalidRequest] when the file cannot be read
    def self.load(path)
      if path == true
        path = ENV["NETRC"] || default_path
        return new("") unless path && File.exist?(path)
      end
      new(File.binread(path)) # the encoding of the file is unknown
    rescue SystemCallError, ArgumentError => error
      reason = error.is_a?(SystemCallError) ? error.class.new.message : error.message
      raise InvalidRequest, "netrc: #{path.inspect} cannot be read: #{reason}", cause: nil
    end

    # @return [String, nil] nil for a user without a home directory, such as a numeric user id in a container
    def self.default_path
      File.join(Dir.home, ".netrc")
    rescue ArgumentError
      nil
    end
    private_class_method :default_path

    # @param text [String] the content of a netrc file
    def initialize(text)
      @logins = {}
      parse(text.gsub(/^[ \t]*#.*$/, "").gsub(/^[ \t]*macdef\s.*?(?:\n[ \t\r]*\n|\z)/m, "\n"))
      @logins.freeze
    end

    # @param host [String]
    # @return [Array(String, String), nil] user and password; nil when the file has no login for the host
    def credentials(host)
      entry = @logins[host.downcase] || @logins[:default]
      entry && entry["login"] && [entry["login"], entry["password"] || ""]
    end

    private

    # If a host has several entries, the first value of each kind is kept.
    def parse(text)
      tokens = text.scan(TOKEN).map { |quoted, plain| quoted ? quoted.gsub(/\\(.)/m, "\\1") : plain }
      entry = nil
      while (word = tokens.shift)
        case word
        when "machine" then entry = @logins[tokens.shift.to_s.downcase] ||= {}
        when "default" then entry = @logins[:default] ||= {}
        when "login", "password", "account" then note(entry, word, tokens.shift)
        end
      end
    end

    def note(entry, name, value)
      entry[name] ||= value if entry && value
    end
  end
end
