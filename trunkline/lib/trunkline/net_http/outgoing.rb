# frozen_string_literal: true

require "tempfile"
require_relative "../content"
require_relative "../memo"
require_relative "../redacted"

module Trunkline
  module NetHTTP
    # A Net::HTTP request on its way out: its fields as Net::HTTP would write them, and its body. What Net::HTTP sets
    # on the request while it sends is set here too, by the same methods, for libraries put themselves before them.
    #
    # @api private
    class Outgoing
      include Redacted

      KNOWN = 256
      private_constant :KNOWN

      @names = {}

      # @return [Array<String>] name, value, name, value...
      attr_reader :fields
      # @return [Content]
      attr_reader :content
      # @return [Integer] bytes of the content, or -1 when it goes out chunked
      attr_reader :length

      # @param req [Net::HTTPGenericRequest]
      # @return [Outgoing]
      # @raise [InvalidRequest] when it is not Trunkline's to send
      # @raise [ArgumentError] as Net::HTTP does
      def self.of(req)
        if req.method == "CONNECT" || req.key?("upgrade")
          raise InvalidRequest, "requests that turn the connection into another one (#{req.method}, Upgrade)"
        end

        new(req)
      end

      # @return [Boolean]
      def self.content?(req)
        !!(req.body || req.body_stream || req.instance_variable_get(:@body_data))
      end

      # @return [String] a field's name as Net::HTTP writes it
      def self.capitalized(req, name)
        @names[name] || Memo.keep(@names, KNOWN, name.dup.freeze, req.send(:capitalize, name).freeze)
      end

      def initialize(req)
        @req = req
        if req.body
          take_text(req.body)
        elsif req.body_stream
          take_stream(req.body_stream)
        elsif (form = req.instance_variable_get(:@body_data))
          take_form(form)
        else
          take_nothing
        end
        @fields = []
        req.instance_variable_get(:@header).each do |name, values|
          @fields << Outgoing.capitalized(req, name) << (values.size == 1 ? values.first : values.join(", "))
        end
        @fields.freeze
      end

      # @return [Boolean]
      def expects_continue?
        @req["expect"]&.include?("100-continue") || false
      end

      private

      def take(content, length)
        @content = content
        @length = length
      end

      # A length that no content follows would make the server take the next request on that connection for it.
      def take_nothing
        if (@req.content_length || 0).positive? || @req.key?("transfer-encoding")
          raise InvalidRequest, "requests that announce a body and have none"
        end

        take(Content::NONE, 0)
      end

      def take_text(text)
        @req.content_length = text.bytesize
        @req.delete("Transfer-Encoding")
        default_content_type
        take(Content.new(text), text.bytesize)
      end

      def take_stream(io)
        unless @req.content_length || @req.chunked?
          raise ArgumentError, "Content-Length not given and Transfer-Encoding is not `chunked'"
        end

        default_content_type
        take_io(io)
      end

      # Both fields at once would let two servers disagree on where the request ends (RFC 9112 6.1).
      def take_io(io)
        @req.delete("Content-Length") if @req.chunked?
        content = Content.new(io.respond_to?(:read) ? io : Reader.new(io))
        take(content, @req.chunked? ? -1 : @req.content_length)
      end

      # Net::HTTP writes multipart forms into a file, and so do we, by its own method. Its framing of chunks is left
      # to the engine.
      def take_form(form)
        return take_urlencoded(form) unless %r{\Amultipart/form-data\z}i.match?(@req.content_type)

        options = @req.instance_variable_get(:@form_option).dup
        options[:boundary] ||= SecureRandom.urlsafe_base64(40)
        @req.set_content_type(@req.content_type, boundary: options[:boundary])
        file = Tempfile.new("multipart", binmode: true)
        file.unlink
        unframed.send(:encode_multipart_form_data, file, form, options)
        file.rewind
        @req.content_length = file.size unless @req.chunked?
        take_io(file)
      end

      def take_urlencoded(form)
        @req.content_type = "application/x-www-form-urlencoded"
        take_text(URI.encode_www_form(form))
      end

      def unframed
        @req.dup.tap { |copy| copy.initialize_http_header({}) }
      end

      # Only net-http before 0.8 has one, and libraries prevent it by overriding this method.
      def default_content_type
        @req.send(:supply_default_content_type) if @req.respond_to?(:supply_default_content_type, true)
      end

      # For what can only be read as IO.copy_stream does.
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
