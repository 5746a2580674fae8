# frozen_string_literal: true

require_relative "../../composer"
require_relative "../../family"
require_relative "../../memo"
require_relative "../../options"
require_relative "../../redacted"
require_relative "best_auth"
require_relative "cookies"
require_relative "easy_options"
require_relative "encoding"
require_relative "redirects"

module Trunkline
  module TyphoeusFace
    # What all requests with the same options have in common, worked out once: how they are composed, and what becomes
    # of their answers.
    class Recipe
      include Redacted

      # Limits of connections that are like none.
      ANY_NUMBER = 65_536
      # libcurl takes a body of any size, unless maxfilesize: is given.
      LIBCURLS = { max_body_bytes: nil, max_decode_ratio: nil }.freeze
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
      @limited = {}
      @lock = Mutex.new

      class << self
        # @param options [Hash] a request's
        # @param connections [Integer] how many to a host at most
        # @return [Recipe]
        # @raise [Typhoeus::Errors::InvalidOption, ArgumentError]
        def of(options, connections = ANY_NUMBER)
          RactorError.refuse
          key = OWN.any? { |name| options.key?(name) } ? options.except(*OWN) : options
          known = connections == ANY_NUMBER ? @known : known_with(connections)
          return unlocking(known, key, connections) if EasyOptions.password?(key)

          known[key] || Memo.keep(known, KNOWN, frozen_copy(key), new(key, connections))
        end

        # @return [Family] one for all requests: they share the connections of the process
        def family
          @family || @lock.synchronize { @family ||= Family.make }
        end

        private

        # A key with a password is written without it, so a file that is rotated makes another recipe. Until it can be
        # read, the one of before serves.
        def unlocking(known, key, connections)
          stamped = [frozen_copy(key), EasyOptions.key_stamps(key)]
          known[stamped] || begin
            recipe = new(key, connections)
            Memo.keep(known, KNOWN, stamped, Memo.keep(known, KNOWN, stamped.first, recipe))
          end
        rescue InvalidRequest
          known[stamped.first] || raise
        end

        # Few hydras have a limit of their own.
        def known_with(connections)
          @limited[connections] || Memo.keep(@limited, KNOWN, connections, {})
        end

        def frozen_copy(options)
          options.transform_values { |value| value.is_a?(Hash) || value.is_a?(Array) ? value.dup.freeze : value }.freeze
        end
      end

      # @return [Policy::Redirect, nil] what follows redirects, if they are followed
      attr_reader :redirect
      # @return [Composer]
      attr_reader :composer

      def initialize(options, connections = ANY_NUMBER)
        easy = @easy = EasyOptions.new(options)
        easy.lasting[:max_connections_per_host] = connections
        settings = Options.defaults.merge({ **LIBCURLS, **easy.lasting })
        @total = settings.timeout.total
        @typed = easy.names?("content-type")
        @composer = compose(settings)
        @forms = easy.lasting.key?(:headers) ? without_type(settings) : @composer
        @redirect = Redirects::KeepingPost.new(easy.redirects, @composer, easy.post_redirects) if easy.redirects
        @asked = easy.schemes != [:basic]
        @signers = {}
        @plans = {}
      end

      # @return [Boolean] whether a status of 400 and more is a failure
      def fails_on_error? = @easy.fails_on_error?
      def verbose? = @easy.verbose?

      # @return [Hash, nil] what was said of cookies (see Cookies)
      def cookies = @easy.cookies

      # @param request [Typhoeus::Request]
      # @return [Composer::Plan]
      # @raise [InvalidRequest]
      def plan(request)
        options = request.options
        url = options.key?(:params) ? Encoding.url(request.base_url.to_s, options) : request.base_url
        content = content(options)
        return plain(url) if content.nil?

        composer = content.key?(:multipart) ? @forms : @composer
        composer.plan(@easy.method, location(url.to_s), content)
      end

      # @return [Float, nil] the moment that ends the call, its redirects and challenges
      def deadline
        Process.clock_gettime(Process::CLOCK_MONOTONIC) + @total if @total && (@redirect || @asked)
      end

      # @return [Policy::Auth, nil] what answers the challenges of a request's server
      def auth(request, plan)
        return unless @asked

        login = @easy.login || URL.parse(full(request.base_url.to_s)).userinfo or return
        signer = @signers[login] || Memo.keep(@signers, KNOWN, login, BestAuth.new(*login, @easy.schemes))
        Policy::Auth.new(signer, plan.request.uri.origin, @composer)
      end

      private

      def compose(settings)
        composer = @easy.unrestricted_auth? ? Redirects::UnrestrictedComposer : Composer
        composer.new(settings, nil, Recipe.family.owner)
      end

      # libcurl guesses further schemes from names; here there is one.
      def full(text)
        text.match?(SCHEME) || text.empty? ? text : "#{@easy.scheme}://#{text}"
      end

      def plain(url)
        @plans[url] || Memo.keep_url(@plans, KNOWN, url, @composer.plan(@easy.method, location(url.to_s)))
      end

      # What is no URL of http or https is refused there, as libcurl does; what only libcurl speaks, here.
      def location(text)
        scheme = text[SCHEME, 1]&.downcase
        raise ::Typhoeus::Errors::UnsupportedOption.new(:url, "#{scheme}://", "http and https") if foreign?(scheme)

        text = full(text)
        return text unless @easy.port || @asked || text.include?("/.")

        url = URL.parse(text)
        path = @easy.path_as_is? ? url.path : URL.without_dots(url.path)
        URL.new(url.scheme, url.host, @easy.port || url.port, path, url.query, @asked ? nil : url.userinfo)
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
        @easy.method == "POST" ? typed("") : nil
      end

      def typed(text)
        body = @easy.chunked? ? [text].each : text
        @typed || WITHOUT_TYPE.include?(@easy.method) ? { body: body } : { body: body, headers: FORM }
      end

      def uploaded(source)
        source.rewind if source.respond_to?(:rewind)
        { body: source }
      rescue IOError, SystemCallError
        { body: source } # a pipe: from where it stands
      end

      # Only the body itself knows its boundary.
      def without_type(settings)
        return @composer unless @typed

        headers = @easy.lasting[:headers].reject { |name, _| name.casecmp?("content-type") }
        others = Options.defaults.merge(@easy.lasting.merge(headers: headers))
        settings.headers == others.headers ? @composer : compose(others)
      end
    end
  end
end
