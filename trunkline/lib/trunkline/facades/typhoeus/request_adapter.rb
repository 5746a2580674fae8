# frozen_string_literal: true

require_relative "../../redacted"
require_relative "../../request_builder"
require_relative "../../url"
require_relative "encoding"

module Trunkline
  module Facades
    module Typhoeus
      # Builds the Trunkline::Request for a Typhoeus::Request.
      class RequestAdapter
        include Redacted

        SCHEME = %r{\A([a-z][a-z0-9+.-]*)://}i
        FORM = [["Content-Type", "application/x-www-form-urlencoded"]].freeze
        # libcurl sets no Content-Type for uploads.
        WITHOUT_TYPE = %w[PUT].freeze
        CUSTOMIZABLE = %w[GET HEAD POST PUT].freeze
        # Methods that are sent without Content-Length when there is no body.
        BODILESS = %w[GET HEAD].freeze
        private_constant :SCHEME, :FORM, :WITHOUT_TYPE, :CUSTOMIZABLE, :BODILESS

        # @param options [Options]
        # @param builder [RequestBuilder]
        # @param multipart_builder [RequestBuilder] like builder, but without a Content-Type
        def initialize(options, builder, multipart_builder)
          @options = options
          @builder = builder
          @multipart_builder = multipart_builder
          @typed = options.names?("content-type")
          @challenged = options.schemes != [:basic]
        end

        # @param request [Typhoeus::Request]
        # @param streaming [Boolean] whether the body of the response is read in chunks
        # @return [Trunkline::Request]
        # @raise [InvalidRequest]
        def build(request, streaming)
          options = request.options
          url = request.base_url.to_s
          url = Encoding.url(url, options) if options.key?(:params)
          content = content(options)
          builder = content&.key?(:multipart) ? @multipart_builder : @builder
          builder.build(method(content), location(url), content, streaming ? :streamed : :buffered)
        end

        # @param request [Typhoeus::Request]
        # @return [Array(String, String), nil] user and password in the URL
        def userinfo(request)
          URL.parse(absolute(request.base_url.to_s)).userinfo
        end

        private

        # Typhoeus sets customrequest itself for every method that is not CUSTOMIZABLE, and for GET with a body.
        def method(content)
          custom = @options.custom_method
          return @options.method if custom.nil? || (@options.method == "GET" && content)

          CUSTOMIZABLE.include?(@options.method) ? custom : @options.method
        end

        # A URL without a scheme gets the default one; libcurl guesses others from host names.
        def absolute(text)
          text.match?(SCHEME) || text.empty? ? text : "#{@options.scheme}://#{text}"
        end

        # Schemes that only libcurl supports are refused here; the builder refuses text that is not a URL.
        def location(text)
          scheme = text[SCHEME, 1]&.downcase
          raise ::Typhoeus::Errors::UnsupportedOption.new(:url, "#{scheme}://", "http and https") if foreign?(scheme)

          text = absolute(text)
          return text unless @options.port || @challenged || text.include?("/.")

          url = URL.parse(text)
          path = @options.path_as_is? ? url.path : URL.without_dots(url.path)
          URL.new(url.scheme, url.host, @options.port || url.port, path, url.query, @challenged ? nil : url.userinfo)
        end

        def foreign?(scheme)
          !scheme.nil? && scheme != "http" && scheme != "https"
        end

        # @return [Hash{Symbol => Object}, nil] options of a call
        def content(options)
          return upload(options[:set_read_callback]) if options[:set_read_callback]

          body = options[:body]
          return empty if body.nil? || (body.respond_to?(:empty?) && body.empty?)
          return { body: body } if body.respond_to?(:read)
          return { multipart: Encoding.parts(body, options) } if options[:multipart] || Encoding.file?(body)

          form(Encoding.form(body, options))
        end

        # libcurl sets the Content-Type of a form for an empty POST, too.
        def empty
          return form("") if @options.method == "POST"

          BODILESS.include?(@options.method) ? nil : { body: "" }
        end

        def form(text)
          body = @options.chunked? ? [text].each : text
          @typed || WITHOUT_TYPE.include?(@options.method) ? { body: body } : { body: body, headers: FORM }
        end

        def upload(source)
          source.rewind if source.respond_to?(:rewind)
          { body: source }
        rescue IOError, SystemCallError
          { body: source } # a pipe cannot rewind: it is read from its position
        end
      end
    end
  end
end
