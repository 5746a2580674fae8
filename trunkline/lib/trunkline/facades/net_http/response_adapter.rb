# frozen_string_literal: true

require "net/http"
require_relative "../../engine"

module Trunkline
  module Facades
    module NetHTTP
      # Makes a Net::HTTPResponse from a response.
      module ResponseAdapter
        class << self
          # @param response [Response]
          # @param req [Net::HTTPGenericRequest]
          # @param http [Net::HTTP]
          # @return [Net::HTTPResponse] without its body (see BodySource)
          def convert(response, req, http)
            converted = head(response.http_version, response.status, response._given_reason, response._pairs)
            converted.decode_content = req.decode_content
            converted.uri = req.uri
            if converted.respond_to?(:ignore_eof=)
              converted.ignore_eof = http.ignore_eof
              converted.body_encoding = http.response_body_encoding
            end
            converted
          end

          # @param reason [String, nil] nil when the status line ended after the status, without a space
          # @param pairs [Enumerable<Array(String, String)>] header fields
          # @return [Net::HTTPResponse] with only a status line and header fields
          def head(version, status, reason, pairs)
            code = format("%03d", status)
            Net::HTTPResponse.send(:response_class, code).new(version, code, reason).tap do |converted|
              fields = converted.instance_variable_get(:@header)
              pairs.each { |name, value| (fields[name.downcase] ||= []) << (value.ascii_only? ? value : value.b) }
            end
          end
        end
      end
    end
  end
end
