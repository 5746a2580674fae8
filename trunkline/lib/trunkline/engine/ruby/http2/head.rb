# frozen_string_literal: true

require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # The head of an HTTP/2 response, with the methods of Ruby::Head.
        class Head
          include Redacted

          attr_reader :status, :fields, :content_length, :framing

          # @param section [HeaderSection]
          # @param bodiless [Boolean]
          def initialize(section, bodiless)
            @status = section.status
            @fields = section.fields
            @content_length = section.content_length
            @framing = if bodiless then :none
                       elsif @content_length >= 0 then :length
                       else
                         :stream
                       end
          end

          def coded? = @fields.any? { |name, _| name.casecmp?("content-encoding") }
          def minor_version = nil
          def given_reason = nil
          def reason = "".encode(Encoding::US_ASCII)
          def keep_alive_timeout = -1
        end

        # The counters of an HTTP/2 response's body, with the names of Framing's.
        class Body
          include Redacted

          attr_reader :body_bytes, :trailers

          def initialize
            @body_bytes = 0
            @trailers = [].freeze
          end

          def consumed(count) = @body_bytes += count

          # @param section [HeaderSection, nil]
          def complete(section)
            @trailers = section.fields if section
          end
        end
      end
    end
  end
end
