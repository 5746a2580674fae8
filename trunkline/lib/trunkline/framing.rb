# frozen_string_literal: true

require_relative "errors"
require_relative "headers"

module Trunkline
  # The fields that say how long a request's content is, and those that a caller must leave to the client so that
  # what is framed is what is sent (RFC 9112 6).
  #
  # @api private
  module Framing
    # Methods whose requests tell their length even when they have no content (RFC 9110 8.6).
    WITH_CONTENT = %w[POST PUT PATCH].freeze

    RESERVED = {
      "transfer-encoding" => "is the client's own: it frames the body itself; leave it out",
      "expect" => "is the client's own: use expect: (seconds to wait for 100 Continue)",
      "upgrade" => "is not supported: the client does not switch protocols"
    }.freeze

    CONNECTION = /\A(?:close|keep-alive)\z/i
    HOST = /\A[A-Za-z0-9\-._:\[\]]+\z/

    module_function

    # @param pairs [Array<Array(String, String)>] a caller's header fields
    # @raise [InvalidRequest]
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

    # @param declared [String, nil] a caller's own Content-Length
    # @return [Integer] bytes, or -1 for a chunked body
    # @raise [InvalidRequest]
    def length(content, declared)
      return content.length || -1 if declared.nil?
      return declared.to_i if content.length.nil? || content.length == declared.to_i

      raise InvalidRequest.of("headers: Content-Length", declared.to_i,
                              "#{content.length}, which the body has, or left out")
    end

    # @return [Array<String>] names and values to end the header section with
    def fields(method, content, length, expect)
      return WITH_CONTENT.include?(method) ? %w[Content-Length 0] : [] unless content.given?

      fields = length.negative? ? %w[Transfer-Encoding chunked] : ["Content-Length", length.to_s]
      fields.push("Expect", "100-continue") if expect && !length.zero?
      fields
    end

    def once(pairs, name)
      return unless pairs.count { |given, _| given.casecmp?(name) } > 1

      raise InvalidRequest, "headers: #{name}: must be given once at most (RFC 9112 3.2, 6.3)"
    end

    def one_of(name, value, pattern, allowed)
      raise InvalidRequest.of("headers: #{name}", value, allowed) unless pattern.match?(value)
    end
    private_class_method :once, :one_of
  end
end
