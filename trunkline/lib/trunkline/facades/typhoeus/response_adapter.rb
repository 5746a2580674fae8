# frozen_string_literal: true

require_relative "../../redacted"
require_relative "../../engine"

module Trunkline
  module Facades
    module Typhoeus
      # Converts the result of a request, a response or an error, to the values that libcurl reports about a transfer.
      # Typhoeus::Response reads each value here when the caller calls the method of that name.
      class ResponseAdapter
        include Redacted

        # The keys of Typhoeus::Response#options.
        NAMES = %i[
          httpauth_avail total_time starttransfer_time appconnect_time pretransfer_time connect_time namelookup_time
          redirect_time effective_url primary_ip response_code request_size redirect_count redirect_url size_upload
          size_download speed_upload speed_download return_code response_headers response_body debug_info error_message
        ].freeze
        # CURLAUTH_ bits of the schemes in WWW-Authenticate.
        SCHEMES = { "basic" => 1, "digest" => 2, "negotiate" => 4, "ntlm" => 8, "bearer" => 64 }.freeze
        CHARSET = /;\s*charset\s*=\s*["']?([^"';,\s]+)/i
        private_constant :SCHEMES, :CHARSET

        # @param body [String] bytes
        # @param content_type [String, nil]
        # @return [String] body itself, in the charset that content_type names
        def self.in_charset(body, content_type)
          name = content_type.to_s[CHARSET, 1]
          encoding = name && Engine.charset(name)
          encoding ? body.force_encoding(encoding) : body
        end

        # @return [Symbol]
        attr_reader :return_code
        # @return [Trunkline::Error, nil]
        attr_reader :error

        # @param transfer [Transfer]
        # @param response [Response, nil] the last response
        # @param return_code [Symbol]
        # @param error [Exception, nil]
        # @param body [String, nil] the body, in place of the response's own
        def initialize(transfer, response, return_code = :ok, error = nil, body = nil)
          @transfer = transfer
          @response = response
          @return_code = return_code
          @error = error
          @body = body
        end

        def response_code
          @response ? @response.status : 0
        end

        def response_body
          @body || @response&.body || (@body = String.new)
        end

        # @return [Typhoeus::Response::Header] of the last response
        def header
          ::Typhoeus::Response::Header.new(@response&._pairs)
        end

        def response_headers
          @response_headers ||= [*redirections, @response].compact.map { |response| head(response) }.join
        end

        def status_message
          reason = @response&.reason
          reason unless reason.nil? || reason.empty?
        end

        def effective_url
          (@response&.request || @transfer.http_request)&.url || @transfer.url
        end

        # Answered challenges do not count.
        def redirect_count
          redirections.count { |response| response.status != 401 }
        end

        # The URL of a redirect that was not followed.
        def redirect_url
          return unless response_code.between?(300, 399) && (location = @response["location"])

          @response.request.uri.follow(location).to_s
        rescue InvalidRequest
          nil
        end

        def primary_ip
          tried = @error.attempts.last if @error.is_a?(Error)
          address = @response&.connection&.address || tried&.address
          address&.sub(/:\d+\z/, "")&.delete("[]")
        end

        def httpauth_avail
          offered = @response ? @response.headers.get_all("www-authenticate").join(", ").downcase : ""
          SCHEMES.sum { |name, bit| offered.match?(/(?:\A|, *)#{name}\b/) ? bit : 0 }
        end

        # ---- times, in seconds from the beginning ----

        def total_time
          return @error.elapsed if @error.is_a?(Error) && @error.elapsed

          redirect_time + (timings&.total || 0.0)
        end

        def redirect_time
          redirections.sum(0.0) { |response| response.timings.total || 0.0 }
        end

        def namelookup_time = until_after(:queue, :resolve)
        def connect_time = until_after(:queue, :resolve, :connect)
        def appconnect_time = timings&.tls ? until_after(:queue, :resolve, :connect, :tls) : 0.0
        def pretransfer_time = until_after(:queue, :resolve, :connect, :tls)

        # A response may begin before the whole request is written, so the sum can exceed the total.
        def starttransfer_time
          [until_after(:queue, :resolve, :connect, :tls, :write, :first_byte), total_time].min
        end

        # ---- sizes, in bytes ----

        def request_size
          request = @response&.request or return 0

          line = request.method.bytesize + request.uri.target.bytesize + " HTTP/1.1\r\n\r\n".bytesize + 1
          line + request.headers.sum { |name, value| name.bytesize + value.bytesize + 4 }
        end

        def size_upload
          @response || @error ? [@transfer.upload_size, 0].max.to_f : 0.0
        end

        def size_download = @transfer.received.to_f
        def speed_upload = speed(size_upload)
        def speed_download = speed(size_download)

        def error_message
          @error.message if @error && @transfer.options[:errorbuffer]
        end

        def debug_info; end

        # @return [Hash{Symbol => Object}]
        def to_h
          NAMES.to_h { |name| [name, public_send(name)] }
        end

        private

        def redirections
          @redirections ||= @transfer.followed_responses
        end

        def timings
          @response&.timings
        end

        def until_after(*phases)
          known = timings or return 0.0

          phases.sum(redirect_time) { |phase| known.public_send(phase) || 0.0 }
        end

        def speed(bytes)
          seconds = total_time
          seconds.positive? ? (bytes / seconds).round.to_f : 0.0
        end

        # Formats the head as libcurl does: trailers after the empty line, and a space in place of HTTP/2's missing
        # reason.
        def head(response)
          line = "HTTP/#{response.http_version} #{response.status} #{response.reason}"
          line = line.rstrip unless response.http_version == "2"
          "#{line}\r\n#{lines(response.headers)}\r\n#{lines(response.trailers)}"
        end

        def lines(fields)
          fields.map { |name, value| "#{name}: #{value}\r\n" }.join
        end
      end
    end
  end
end
