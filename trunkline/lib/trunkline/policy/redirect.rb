# frozen_string_literal: true

require_relative "../errors"
require_relative "../redacted"

module Trunkline
  module Policy
    # Follows redirects (RFC 9110 15.4) to http and https URLs, up to a limit and not in a loop. From https to http it
    # sends no credentials, and no body unless redirect_body_to_http: allows it. Credentials are dropped on a redirect
    # to another origin, and stay dropped on a redirect back.
    class Redirect
      include Redacted

      STATUSES = [301, 302, 303, 307, 308].freeze
      # Fields that have no meaning once a redirect has dropped the content.
      CONTENT_FIELDS = /\A(?:content-(?!length\z).+|digest|repr-digest|transfer-encoding|expect|trailer)\z/i
      # Fields that are computed for each request.
      COMPUTED = /\A(?:content-length|transfer-encoding|expect)\z/i

      class << self
        # @param result [Response, Exception]
        # @return [Boolean] whether it is a redirect
        def redirect?(result)
          result.is_a?(Response) && STATUSES.include?(result.status) && !result["location"].nil?
        end

        # Selects the header fields of the next request.
        #
        # @param pairs [Enumerable<Array(String, String)>]
        # @param same_origin [Boolean]
        # @param same_method [Boolean] false when the content is dropped
        # @yield [name] whether that field holds credentials
        # @return [Array<Array(String, String)>]
        def next_fields(pairs, same_origin:, same_method:)
          pairs.reject do |name, _|
            COMPUTED.match?(name) || (!same_method && CONTENT_FIELDS.match?(name)) ||
              (!same_origin && (name.casecmp?("host") || yield(name)))
          end
        end
      end

      # @param limit [Integer] maximum number of redirects
      # @param builder [RequestBuilder]
      def initialize(limit, builder)
        @limit = limit
        @builder = builder
      end

      # Selects the method of the next request: GET after a 303, unless it was HEAD; GET instead of POST after a 301 or
      # 302, as RFC 9110 15.4.2 and 15.4.3 allow; otherwise the same method.
      #
      # @return [String]
      def next_method(status, method)
        return "GET" if status == 303 && method != "HEAD"
        return "GET" if method == "POST" && [301, 302].include?(status)

        method
      end

      # @param request [Request]
      # @param call [Call] whose log loses the attempts of all hops but the last
      # @yield [request] sends the request and returns its Response
      # @return [Response] the first that is not a redirect
      # @raise [RedirectError]
      def call(request, call)
        seen = { key(request) => true }
        redirects = []
        loop do
          tries = call.tries
          response = yield request
          return response._set_redirects(redirects) unless Redirect.redirect?(response)

          request = next_request(request, response, redirects, seen)
          redirects << response._discard
          call.truncate_log(tries)
        end
      end

      private

      def key(request)
        [request.method, request.url]
      end

      def next_request(request, response, redirects, seen)
        if redirects.size >= @limit
          refuse(TooManyRedirects, response, "was redirected more than #{@limit} times (follow: #{@limit})")
        end

        following = build_next(request, response)
        if seen[key(following)]
          refuse(RedirectLoop, response, "leads back to #{following.method} #{following.uri.path}")
        end

        seen[key(following)] = true
        following
      rescue RedirectError
        response.close
        raise
      end

      def build_next(request, response)
        url = target(request, response)
        same_origin = url.origin == request.uri.origin
        method = next_method(response.status, request.method)
        same_method = method == request.method
        refuse_downgrade(request, url, same_method, response) if request.uri.tls? && !url.tls?

        fields = next_fields(request, same_origin, same_method)
        fields << ["Accept-Encoding", nil] # without the default; a field of the first request stays
        rewind(request, response) if same_method && request.content?
        @builder.rebuild(request, method, url, fields, same_method)
      end

      def next_fields(request, same_origin, same_method)
        Redirect.next_fields(request.headers, same_origin: same_origin, same_method: same_method) do |name|
          @builder.credential?(name)
        end
      end

      def target(request, response)
        request.uri.follow(response["location"])
      rescue InvalidRequest => error
        refuse(UnsafeRedirect, response, "leads to no http or https URL: #{error.message}")
      end

      # Raises for credentials, or a body, that were sent over TLS and would be sent unencrypted.
      def refuse_downgrade(request, url, same_method, response)
        if request.headers.any? { |name, _| @builder.credential?(name) }
          refuse(UnsafeRedirect, response, "would take credentials from https to http, at #{url.origin}")
        end
        return if !same_method || request.content_length.zero? || @builder.redirects_body_to_http?

        refuse(UnsafeRedirect, response, "would send the body again unencrypted, from https to http, at " \
                                         "#{url.origin} (redirect_body_to_http: true allows it)")
      end

      def rewind(request, response)
        return request.rewind if request.rewindable?

        refuse(UnsafeRedirect, response, "asks for the body again, which was streamed and cannot be rewound")
      end

      def refuse(error, response, what)
        raise error.about(response, "#{what}; the server has the whole request")
      end
    end
  end
end
