# frozen_string_literal: true

require_relative "../field_section"
require_relative "../limits"
require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # A header section of a response, built field by field: a 1xx, the final head, or trailers. Checks RFC 9113 8.1
        # to 8.3 and the limits of its call; the first fault is kept.
        class HeaderSection
          include Redacted

          # Bytes that are added for each field (RFC 9113 6.5.2).
          FIELD_OVERHEAD = 32
          NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/n
          NAME_IN_ANY_CASE = /\A[!#$%&'*+\-.^_`|~0-9a-zA-Z]+\z/n
          VALUE = /\A(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?\z/n
          # Connection-specific fields (RFC 9113 8.2.2).
          FORBIDDEN = %w[connection keep-alive proxy-connection transfer-encoding upgrade].freeze
          private_constant :FIELD_OVERHEAD, :NAME, :NAME_IN_ANY_CASE, :VALUE, :FORBIDDEN

          # @return [Integer, nil] nil: no status, as in trailers
          attr_reader :status
          # @return [Array<Array(String, String)>] without pseudo-headers
          attr_reader :fields
          # @return [Integer] -1: not given
          attr_reader :content_length
          # @return [Symbol, nil] a key of FAILURES
          attr_reader :fault

          # @param limits [HeadLimits]
          # @param trailers [Boolean]
          def initialize(limits, trailers)
            @limits = limits
            @trailers = trailers
            @fields = []
            @size = 0
            @content_length = -1
          end

          def add(name, value)
            @fault ||= fault_in(name, value)
            @fields << [name, value].freeze unless @fault || name.start_with?(":")
          end

          def complete
            @fault ||= :HTTP2_MALFORMED if @status.nil? && !@trailers
            @fields.freeze
          end

          def informational? = !@status.nil? && @status < 200

          # @return [Symbol] the error code to reset the stream with after a fault
          def error_code = @fault == :HTTP2_MALFORMED ? :PROTOCOL_ERROR : :INTERNAL_ERROR

          private

          def fault_in(name, value)
            return :HTTP2_MALFORMED if name.start_with?(":") && !status_taken?(name, value)
            return invalid(name) if !name.start_with?(":") && !(NAME.match?(name) && VALUE.match?(value))

            too_large(name, value) || (meaning(name, value) unless name.start_with?(":"))
          end

          def invalid(name) = NAME_IN_ANY_CASE.match?(name) ? :FIELD_VALUE : :FIELD_NAME

          # Takes the only pseudo-header field of responses, which must come once and first.
          def status_taken?(name, value)
            return false if name != ":status" || @trailers || @status || !@fields.empty?
            return false unless value.match?(/\A\d{3}\z/) && value != "101"

            @status = value.to_i
            true
          end

          def too_large(name, value)
            @size += name.bytesize + value.bytesize + FIELD_OVERHEAD
            if @size > (@trailers ? @limits.trailer_bytes : @limits.head_bytes)
              return @trailers ? :TRAILER_TOO_LARGE : :HEAD_TOO_LARGE
            end

            :TOO_MANY_FIELDS if @fields.size == @limits.fields && !name.start_with?(":")
          end

          def meaning(name, value)
            case name
            when "content-length" then :HTTP2_MALFORMED unless length_taken?(value)
            when "te" then :HTTP2_MALFORMED unless value.casecmp?("trailers")
            when *FORBIDDEN then :HTTP2_MALFORMED
            end
          end

          def length_taken?(value)
            return false if @content_length >= 0 || !value.match?(/\A\d{1,19}\z/) || informational?

            @content_length = value.to_i
            @content_length <= 0x7fff_ffff_ffff_ffff && (@status != 204 || @content_length.zero?)
          end
        end
      end
    end
  end
end
