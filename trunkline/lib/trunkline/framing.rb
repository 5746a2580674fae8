# frozen_string_literal: true

require_relative "errors"
require_relative "headers"

module Trunkline
  # Checks a caller's header fields that affect the framing of a message (RFC 9112 6), which the client sets itself.
  #
  # @api private
  module Framing
    RESERVED = {
      "transfer-encoding" => "is the client's own: it frames the body itself; leave it out",
      "expect" => "is the client's own: use expect: (seconds to wait for 100 Continue)",
      "upgrade" => "is not supported: the client does not switch protocols"
    }.freeze

    CONNECTION = /\A(?:close|keep-alive)\z/i
    HOST = /\A[A-Za-z0-9\-._:\[\]]+\z/
    LENGTH = /\A\d{1,18}\z/
    # The names that are checked, by their number of bytes, which all differ.
    CHECKED = [*RESERVED.keys, "connection", "content-length", "host"].to_h { |name| [name.bytesize, name] }.freeze
    private_constant :CONNECTION, :HOST, :LENGTH, :CHECKED

    module_function

    # @param pairs [Array<Array(String, String)>] header fields of a caller
    # @raise [InvalidRequest] for a field that the client sets itself, a repeated Host or Content-Length, or an invalid
    #   value
    def check(pairs)
      given = pairs.filter_map { |name, value| checked(name)&.then { |known| [known, name, value] } }
      return if given.empty?

      once(given, "host")
      once(given, "content-length")
      given.each { |known, name, value| check_value(known, name, value) unless value.nil? }
    end

    # @return [String, nil] the name in lower case; nil: a field of this name is not checked
    def checked(name)
      known = CHECKED[name.bytesize]
      known if known && name.casecmp?(known)
    end

    def check_value(known, name, value)
      case known
      when "connection" then one_of(name, value, CONNECTION, "close or keep-alive")
      when "content-length" then one_of(name, value, LENGTH, "a number of bytes")
      when "host" then one_of(name, value, HOST, "one host, or host:port")
      else raise InvalidRequest, "headers: #{name} #{RESERVED[known]}"
      end
    end

    def once(given, name)
      return unless given.count { |known, _| known == name } > 1

      raise InvalidRequest, "headers: #{name}: must be given once at most (RFC 9112 3.2, 6.3)"
    end

    def one_of(name, value, pattern, allowed)
      raise InvalidRequest.of("headers: #{name}", value, allowed) unless pattern.match?(value.b)
    end
    private_class_method :checked, :check_value, :once, :one_of
  end
end
