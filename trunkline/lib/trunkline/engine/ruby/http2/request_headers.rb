# frozen_string_literal: true

require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # Converts a request's HTTP/1.1 head to a list of HTTP/2 header fields (RFC 9113 8.2, 8.3.1): names in lower
        # case, without connection-specific fields.
        class RequestHeaders
          include Redacted

          OMITTED = %w[connection host keep-alive proxy-connection upgrade http2-settings transfer-encoding]
            .to_h { |name| [name, true] }.freeze
          FIELD = /^([^:\r\n]+):[ \t]*([^\r\n]*?)[ \t]*\r\n/n
          private_constant :OMITTED, :FIELD

          # @return [Array<Array(String, String)>] pseudo-headers first
          attr_reader :fields

          # @param head [String] a complete head
          # @param scheme [String] "https"
          def initialize(head, scheme)
            line, rest = head.b.split("\r\n", 2)
            @method, target, = line.split(" ", 3)
            head_fields = rest.scan(FIELD).map { |name, value| [name.downcase, value] }
            @connects = head_fields.any? { |name, value| name == "upgrade" && value.casecmp?("websocket") }
            authority = head_fields.assoc("host")&.last.to_s
            @fields = pseudo(target, scheme, authority) + head_fields.reject { |name, value| omitted?(name, value) }
          end

          # @return [Boolean] whether it is an extended CONNECT (RFC 8441 4), which opens a tunnel
          def connects? = @connects

          private

          def pseudo(target, scheme, authority)
            return [%w[:method CONNECT], [":authority", target]] if @method == "CONNECT"

            fields = [[":method", @connects ? "CONNECT" : @method], [":scheme", scheme],
                      [":path", without_origin(target)]]
            fields.insert(1, %w[:protocol websocket]) if @connects
            fields.insert(-2, [":authority", authority]) unless authority.empty?
            fields
          end

          # Requests to a proxy are in absolute-form.
          def without_origin(target)
            return target if target.start_with?("/") || !target.include?("://")

            target[%r{\A[^:/]*://[^/]*(/.*)\z}mn, 1] || "/"
          end

          def omitted?(name, value)
            OMITTED.key?(name) || (name == "te" && !value.casecmp?("trailers")) ||
              (@connects && name == "sec-websocket-key")
          end
        end
      end
    end
  end
end
