# frozen_string_literal: true

require_relative "../errors"
require_relative "../redacted"

module Trunkline
  module Policy
    # Follows redirects (RFC 9110 15.4): to http and https alone, up to a limit, never in a loop, never from https
    # to http with credentials, nor with a body unless redirect_body_to_http: allows it. Credentials go no further than
    # the origin they were set for, and do not come back.
    class Redirect
      include Redacted

      STATUSES = [301, 302, 303, 307, 308].freeze
      # Of no meaning once a redirect has dropped the content.
      CONTENT_FIELDS = /\A(?:content-(?!length\z).+|digest|repr-digest|transfer-encoding|expect|trailer)\z/i
      # Worked out anew for each request.
      COMPUTED = /\A(?:content-length|transfer-encoding|expect)\z/i

      class << self
        # @param result [Response, Exception]
        # @return [Boolean] whether it is a redirect
        def redirect?(result)
          result.is_a?(Response) && STATUSES.include?(result.status) && !result["location"].nil?
        end

        # Which header fields follow.
        #
        # @param pairs [Enumerable<Array(String, String)>]
        # @param same_origin [Boolean]
        # @param same_method [Boolean] false when the content is dropped
        # @yield [name] whether that field is a credential
        # @return [Array<Array(String, String)>]
        def next_fields(pairs, same_origin:, same_method:)
          pairs.reject do |name, _|
            COMPUTED.match?(name) || (!same_method && CONTENT_FIELDS.match?(name)) ||
              (!same_origin && (name.casecmp?("host") || yield(name)))
          end
        end
      end

      # @param limit [Integer] how many redirects at most
      # @param builder [RequestBuilder]
      def initialize(limit, builder)
        @limit = limit
        @builder = builder
      end

      # Which method follows: 303 asks for a GET; 301 and 302 have always turned POST into GET (RFC 9110 15.4.2,
      # 15.4.3 allow it); everything else stays.
      #
      # @return [String]
      def next_method(status, method)
        return "GET" if status == 303 && method != "HEAD"
        return "GET" if method == "POST" && [301, 302].include?(status)

        method
      end

      # @param request [Request]
      # @param call [Call] whose attempts become those of the last hop
      # @yield [request] sends it and returns its Response
      # @return [Response] the first that is no redirect
      # @raise [RedirectError]
      def call(request, call)
        seen = { key(request) => true }
        passed = []
        loop do
          tries = call.tries
          response = yield request
          return response._redirected(passed) unless Redirect.redirect?(response)

          request = succeed(request, response, passed, seen)
          passed << response._discard
          call.forget_since(tries)
        end
      end

      private

      def key(request)
        [request.method, request.url]
      end

      def succeed(request, response, passed, seen)
        if passed.size >= @limit
          refuse(TooManyRedirects, response, "was redirected more than #{@limit} times (follow: #{@limit})")
        end

        following = following(request, response)
        if seen[key(following)]
          refuse(RedirectLoop, response, "leads back to #{following.method} #{following.uri.path}")
        end

        seen[key(following)] = true
        following
      rescue RedirectError
        response.close
        raise
      end

      def following(request, response)
        url = target(request, response)
        same_origin = url.origin == request.uri.origin
        method = next_method(response.status, request.method)
        same_method = method == request.method
        refuse_downgrade(request, url, same_method, response) if request.uri.tls? && !url.tls?

        fields = next_fields(request, same_origin, same_method)
        fields << ["Accept-Encoding", nil] # none but what was asked for at first
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

      # What was encrypted is not sent again in clear.
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
