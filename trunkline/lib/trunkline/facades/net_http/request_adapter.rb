# frozen_string_literal: true

require "net/http"
require "tempfile"
require_relative "../../content"
require_relative "../../memo"
require_relative "../../redacted"
require_relative "../../url"

module Trunkline
  module Facades
    module NetHTTP
      # A Net::HTTP request in the form that the engine takes: header fields as Net::HTTP writes them, and content.
      # Fields that Net::HTTP sets while it sends are set on the request here, by the same methods, because libraries
      # override them.
      class RequestAdapter
        include Redacted

        CACHE_LIMIT = 256
        # Whether this version of net-http sets a default Content-Type. The method's presence does not show that: the
        # AWS SDK defines it for every version.
        DEFAULTS_CONTENT_TYPE = Gem::Version.new(Net::HTTP::VERSION) < Gem::Version.new("0.8")
        private_constant :CACHE_LIMIT, :DEFAULTS_CONTENT_TYPE

        @names = {}

        # @return [Array<String>] name, value, name, value...
        attr_reader :fields
        # @return [String, Content, nil]
        attr_reader :content
        # @return [Integer] bytes of the content, or -1 when it is sent chunked
        attr_reader :length

        class << self
          # @param origin [URL] of the server
          # @param target [String] of a request line; "/" is put before a target that is no path, for error messages
          # @return [URL]
          def url(origin, target)
            path, query = target.split("?", 2)
            URL.new(origin.scheme, origin.host, origin.port, path.start_with?("/") ? path : "/#{path}", query)
          end

          # @return [String] a field's name as Net::HTTP writes it
          def capitalized(req, name)
            @names[name] || Memo.keep(@names, CACHE_LIMIT, name.dup.freeze, req.send(:capitalize, name).freeze)
          end
        end

        # @param req [Net::HTTPGenericRequest]
        # @raise [InvalidRequest] for a request that Net::HTTP must send itself
        # @raise [ArgumentError] as Net::HTTP does
        def initialize(req)
          if req.method == "CONNECT" || req.key?("upgrade")
            raise InvalidRequest, "requests that turn the connection into another one (#{req.method}, Upgrade)"
          end

          @req = req
          set_content
          @fields = []
          req.instance_variable_get(:@header).each do |name, values|
            @fields << RequestAdapter.capitalized(req, name) << (values.size == 1 ? values.first : values.join(", "))
          end
          @fields.freeze
        end

        # @return [Boolean]
        def expects_continue?
          @req["expect"]&.include?("100-continue") || false
        end

        private

        def set_content
          if @req.body
            use_text(@req.body)
          elsif @req.body_stream
            use_stream(@req.body_stream)
          elsif (form = @req.instance_variable_get(:@body_data))
            use_form(form)
          else
            use_none
          end
        end

        def use(content, length)
          @content = content
          @length = length
        end

        # If a length were sent without content, the server would read the connection's next request as the content.
        def use_none
          if (@req.content_length || 0).positive? || @req.key?("transfer-encoding")
            raise InvalidRequest, "requests that announce a body and have none"
          end

          use(nil, 0)
        end

        def use_text(text)
          @req.content_length = text.bytesize
          @req.delete("Transfer-Encoding")
          default_content_type
          use(text.is_a?(String) ? text : Content.new(text), text.bytesize)
        end

        def use_stream(io)
          unless @req.content_length || @req.chunked?
            raise ArgumentError, "Content-Length not given and Transfer-Encoding is not `chunked'"
          end

          default_content_type
          use_io(io)
        end

        # A request with both fields could end at different bytes for two servers (RFC 9112 6.1).
        def use_io(io)
          @req.delete("Content-Length") if @req.chunked?
          content = Content.new(io.respond_to?(:read) ? io : Reader.new(io))
          use(content, @req.chunked? ? -1 : @req.content_length)
        end

        # Net::HTTP's own method writes a multipart form to a file. The engine writes the chunks of the transfer coding.
        def use_form(form)
          return use_urlencoded(form) unless %r{\Amultipart/form-data\z}i.match?(@req.content_type)

          options = @req.instance_variable_get(:@form_option).dup
          options[:boundary] ||= SecureRandom.urlsafe_base64(40)
          @req.set_content_type(@req.content_type, boundary: options[:boundary])
          file = Tempfile.new("multipart", binmode: true)
          file.unlink
          without_fields.send(:encode_multipart_form_data, file, form, options)
          file.rewind
          @req.content_length = file.size unless @req.chunked?
          use_io(file)
        end

        def use_urlencoded(form)
          @req.content_type = "application/x-www-form-urlencoded"
          use_text(URI.encode_www_form(form))
        end

        # Net::HTTP writes the form without the framing of chunks if the request has no header fields.
        def without_fields
          @req.dup.tap { |copy| copy.initialize_http_header({}) }
        end

        # Libraries override the method to prevent the default.
        def default_content_type
          @req.send(:supply_default_content_type) if DEFAULTS_CONTENT_TYPE
        end

        # Reads from an object that has readpartial and no read, as IO.copy_stream does.
        class Reader
          include Redacted

          def initialize(io)
            @io = io
          end

          def read(bytes)
            @io.readpartial(bytes)
          rescue EOFError
            nil
          end
        end
        private_constant :Reader
      end
    end
  end
end
