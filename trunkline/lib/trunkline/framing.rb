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

    module_function

    # @param pairs [Array<Array(String, String)>] header fields of a caller
    # @raise [InvalidRequest] for a field that the client sets itself, a repeated Host or Content-Length, or an invalid
    #   value
    def check(pairs)
      once(pairs, "host")
      once(pairs, "content-length")
      pairs.each do |name, value|
        next if value.nil?

        case name.downcase
        when *RESERVED.keys then raise InvalidRequest, "headers: #{name} #{RESERVED[name.downcase]}"
        when "connection" then one_of(name, value, CONNECTION, "close or keep-alive")
        when "content-length" then one_of(name, value, /\A\d{1,18}\z/, "a number of bytes")
        when "host" then one_of(name, value, HOST, "one host, or host:port")
        end
      end
    end

    def once(pairs, name)
      return unless pairs.count { |field, _| field.casecmp?(name) } > 1

      raise InvalidRequest, "headers: #{name}: must be given once at most (RFC 9112 3.2, 6.3)"
    end

    def one_of(name, value, pattern, allowed)
      raise InvalidRequest.of("headers: #{name}", value, allowed) unless pattern.match?(value.b)
    end
    private_class_method :once, :one_of
  end
end
