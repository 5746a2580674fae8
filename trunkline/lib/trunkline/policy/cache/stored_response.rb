# frozen_string_literal: true

require_relative "../../comma_list"
require_relative "../../engine"
require_relative "../../headers"
require_relative "../../redacted"

module Trunkline
  module Policy
    class Cache
      # A stored response: its head without Age and without the fields of the connection, its body, and its Freshness.
      # Frozen.
      class StoredResponse
        include Redacted

        # RFC 9111 3.1: fields of the connection. Age is computed on each use.
        CONNECTION_FIELDS = %w[connection keep-alive proxy-connection te transfer-encoding upgrade trailer age
                               proxy-authenticate proxy-authentication-info proxy-authorization].freeze
        # RFC 9111 3.2: these fields are not updated, because they describe the stored body.
        BODY_FIELDS = %w[content-length content-encoding content-range].freeze
        # RFC 9110 15.4.5
        FIELDS_IN_304 = %w[cache-control content-location date etag expires vary last-modified].freeze
        VARY = /^vary:[ \t]*([^\r]*)/in
        private_constant :VARY, :CONNECTION_FIELDS, :BODY_FIELDS, :FIELDS_IN_304

        # @return [String] bytes: status line and fields, each with its line ending
        attr_reader :head
        # @return [String] bytes
        attr_reader :body
        # @return [Freshness]
        attr_reader :freshness

        class << self
          # @param response [Response] complete
          # @param body [String] bytes; frozen and kept
          # @param freshness [Freshness]
          # @return [StoredResponse]
          def of(response, body, freshness)
            pairs = stored_fields(response)
            pairs += [["Date", httpdate(freshness.received)]] unless response["date"] # RFC 9110 6.6.1
            new(head_of(response.status, response.reason, pairs), body, freshness)
          end

          # @param pairs [Array<Array(String, String)>]
          # @return [String]
          def head_of(status, reason, pairs)
            head = "HTTP/1.1 #{status} ".b << reason.b << "\r\n"
            pairs.each { |name, value| head << name.b << ": " << value.b << "\r\n" }
            head
          end

          # @param response [Response]
          # @param more [Array<String>] names of other fields to leave out, in lower case
          # @return [Array<Array(String, String)>] fields of the response without those of the connection
          def stored_fields(response, more = [])
            named = CommaList.parse(response["connection"].to_s.downcase)
            response._pairs.reject do |name, _|
              name = name.downcase
              CONNECTION_FIELDS.include?(name) || named.include?(name) || more.include?(name)
            end
          end

          private

          def httpdate(seconds) = Time.at(seconds).utc.strftime("%a, %d %b %Y %H:%M:%S GMT")
        end

        # @param head [String]
        # @param body [String]
        # @param freshness [Freshness]
        def initialize(head, body, freshness)
          @head = head.freeze
          @body = body.freeze
          @freshness = freshness
          freeze
        end

        # @return [Integer]
        def bytesize = @head.bytesize + @body.bytesize

        # @return [String] the field Vary
        def vary = @head[VARY, 1] ? @head.scan(VARY).join(",") : ""

        # @param request [Request]
        # @param age [Float, nil] seconds; nil when the response was just validated
        # @return [Response]
        def response(request, age)
          make(request, @head, age, @body)
        end

        # @param request [Request] whose condition is true for this response
        # @return [Response] 304 (Not Modified)
        def not_modified(request, age)
          pairs = to_response(request)._pairs.select { |name, _| FIELDS_IN_304.include?(name.downcase) }
          make(request, StoredResponse.head_of(304, "Not Modified", pairs), age, "")
        end

        # @param bytes [Range<Integer>] of the body
        # @return [Response] 206 (Partial Content)
        def partial_content(request, age, bytes)
          pairs = to_response(request)._pairs.reject { |name, _| BODY_FIELDS.include?(name.downcase) }
          pairs += [["Content-Range", "bytes #{bytes.begin}-#{bytes.end}/#{@body.bytesize}"],
                    ["Content-Length", bytes.size.to_s]]
          make(request, StoredResponse.head_of(206, "Partial Content", pairs), age, @body.byteslice(bytes))
        end

        # @return [Boolean] whether byte ranges of the stored body are those of the server's representation
        def ranges? = @freshness.status == 200 && !@head.match?(/^content-encoding:/in)

        # @param response [Response] to a HEAD
        # @return [Boolean] whether it describes this stored response (RFC 9111 4.3.5)
        def same_as_head?(response)
          length = response["content-length"]
          @freshness.status == response.status && @freshness.describes?(response) &&
            (length.nil? || [nil, length].include?(to_response(response.request)["content-length"]))
        end

        # @param request [Request]
        # @return [Response] with the fields of this stored response and an empty body
        def to_response(request) = Engine.response(request, "#{@head}\r\n", "")

        # RFC 9111 3.2
        #
        # @param response [Response] with newer fields: a 304, or the response to a HEAD
        # @yieldparam fields [Response] with the merged fields
        # @yieldreturn [Freshness]
        # @return [StoredResponse] with the newer fields and the same body
        def updated(response)
          newer = StoredResponse.stored_fields(response, BODY_FIELDS)
          names = newer.map { |name, _| name.downcase }
          old = to_response(response.request)
          pairs = old._pairs.reject { |name, _| names.include?(name.downcase) } + newer
          head = StoredResponse.head_of(old.status, old.reason, pairs)
          fields = Engine.response(response.request, "#{head}#{age_line(response)}\r\n", "")
          StoredResponse.new(head, @body, yield(fields))
        end

        private

        def age_line(response) = ("Age: #{response["age"]}\r\n" if response["age"])

        def make(request, head, age, body)
          head = age ? "#{head}Age: #{age.to_i}\r\n\r\n" : "#{head}\r\n"
          Engine.response(request, head, request.method == "HEAD" ? "" : body)
            ._set_attempts(NOTHING)._streamed_if_requested
        end

        # Attempts of a call that sent no request.
        NOTHING = [].freeze
        private_constant :NOTHING
      end
    end
  end
end
