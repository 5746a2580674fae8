# frozen_string_literal: true

require_relative "../../composer"
require_relative "../../family"
require_relative "../../memo"
require_relative "../../options"
require_relative "easy_options"
require_relative "encoding"

module Trunkline
  module TyphoeusFace
    # What all requests with the same options have in common, worked out once: how they are composed, and what becomes
    # of their answers.
    class Recipe
      # What differs from request to request, or is of no matter here.
      OWN = %i[params body set_read_callback cache cache_ttl].freeze
      KNOWN = 256
      SCHEME = %r{\A([a-z][a-z0-9+.-]*)://}i
      FORM = [["Content-Type", "application/x-www-form-urlencoded"]].freeze
      # libcurl tells no type of what it uploads.
      WITHOUT_TYPE = %w[PUT].freeze
      NONE = {}.freeze
      private_constant :OWN, :KNOWN, :SCHEME, :FORM, :WITHOUT_TYPE, :NONE

      @known = {}
      @lock = Mutex.new

      class << self
        # @param options [Hash] a request's
        # @return [Recipe]
        # @raise [Typhoeus::Errors::InvalidOption, ArgumentError]
        def of(options)
          key = OWN.any? { |name| options.key?(name) } ? options.except(*OWN) : options
          @known[key] || Memo.keep(@known, KNOWN, frozen_copy(key), new(key))
        end

        # @return [Family] one for all requests: they share the connections of the process
        def family
          @family || @lock.synchronize { @family ||= Family.make }
        end

        private

        def frozen_copy(options)
          options.transform_values { |value| value.is_a?(Hash) || value.is_a?(Array) ? value.dup.freeze : value }.freeze
        end
      end

      # @return [Integer, nil] how many redirects are followed
      attr_reader :redirects
      # @return [Composer]
      attr_reader :composer

      def initialize(options)
        easy = EasyOptions.new(options)
        @method = easy.method
        @redirects = easy.redirects
        @fails_on_error = easy.fails_on_error?
        @port = easy.port
        @verbose = easy.verbose?
        @typed = easy.names?("content-type")
        @chunked = easy.chunked?
        settings = Options.defaults.merge(easy.lasting)
        @total = settings.timeout.total
        @composer = Composer.new(settings, nil, Recipe.family.owner)
        @forms = easy.lasting.key?(:headers) ? without_type(settings, easy) : @composer
        @plans = {}
      end

      # @return [Boolean] whether a status of 400 and more is a failure
      def fails_on_error? = @fails_on_error
      def verbose? = @verbose

      # @param request [Typhoeus::Request]
      # @return [Composer::Plan]
      # @raise [InvalidRequest]
      def plan(request)
        options = request.options
        url = options.key?(:params) ? Encoding.url(request.base_url.to_s, options) : request.base_url
        content = content(options)
        return plain(url) if content.nil?

        composer = content.key?(:multipart) ? @forms : @composer
        composer.plan(@method, location(url.to_s), content)
      end

      # @return [Float, nil] the moment that ends the call and its redirects
      def deadline
        @total && @redirects && (Process.clock_gettime(Process::CLOCK_MONOTONIC) + @total)
      end

      private

      def plain(url)
        @plans[url] || Memo.keep_url(@plans, KNOWN, url, @composer.plan(@method, location(url.to_s)))
      end

      # What is no URL of http or https is refused there, as libcurl does; what only libcurl speaks, here.
      def location(text)
        scheme = text[SCHEME, 1]&.downcase
        raise ::Typhoeus::Errors::UnsupportedOption.new(:url, "#{scheme}://", "http and https") if foreign?(scheme)

        text = "http://#{text}" if scheme.nil? && !text.empty?
        return text unless @port || text.include?("/.")

        parsed = URL.parse(text)
        URL.new(parsed.scheme, parsed.host, @port || parsed.port, URL.without_dots(parsed.path), parsed.query,
                parsed.userinfo)
      end

      def foreign?(scheme)
        !scheme.nil? && scheme != "http" && scheme != "https"
      end

      # @return [Hash{Symbol => Object}, nil] of a call
      def content(options)
        return uploaded(options[:set_read_callback]) if options[:set_read_callback]

        body = options[:body]
        return empty if body.nil? || (body.respond_to?(:empty?) && body.empty?)
        return { body: body } if body.respond_to?(:read)
        return { multipart: Encoding.parts(body, options) } if options[:multipart] || Encoding.file?(body)

        typed(Encoding.form(body, options))
      end

      # libcurl has the type of a form even for a POST of nothing.
      def empty
        @method == "POST" ? typed("") : nil
      end

      def typed(text)
        body = @chunked ? [text].each : text
        @typed || WITHOUT_TYPE.include?(@method) ? { body: body } : { body: body, headers: FORM }
      end

      def uploaded(source)
        source.rewind if source.respond_to?(:rewind)
        { body: source }
      rescue IOError, SystemCallError
        { body: source } # a pipe: from where it stands
      end

      # Only the body itself knows its boundary.
      def without_type(settings, easy)
        return @composer unless @typed

        headers = easy.lasting[:headers].reject { |name, _| name.casecmp?("content-type") }
        others = Options.defaults.merge(easy.lasting.merge(headers: headers))
        settings.headers == others.headers ? @composer : Composer.new(others, nil, Recipe.family.owner)
      end
    end
  end
end
