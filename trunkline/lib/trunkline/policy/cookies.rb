# frozen_string_literal: true

require_relative "../attempt_values"
require_relative "../cookie_jar"
require_relative "../errors"
require_relative "../redacted"

module Trunkline
  module Policy
    # Sends the cookies of a jar with each request, redirects and challenges included, and stores the cookies that
    # responses set.
    class Cookies
      include Redacted

      ALLOWED = "true, a Trunkline::CookieJar, or false; cookies of your own are " \
                'headers: { "Cookie" => "name=value" }'
      private_constant :ALLOWED

      # @param value [true, CookieJar, false, nil] true for a new jar
      # @return [Cookies, nil]
      # @raise [InvalidRequest]
      def self.of(value)
        case value
        when nil, false then nil
        when true then new(CookieJar.new)
        when CookieJar then new(value)
        when Cookies then value
        else raise InvalidRequest.of(:cookies, value, ALLOWED)
        end
      end

      # @return [CookieJar]
      attr_reader :jar

      # @param jar [CookieJar]
      def initialize(jar)
        @jar = jar
        freeze
      end

      # @param request [Request]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      def call(request, _call)
        response = yield fill(request)
        store_cookies(response)
        response
      end

      # @param request [Request]
      # @return [Request] with the jar's cookies after those that the caller set; a caller's cookie wins over the jar's
      #   of that name
      def fill(request)
        return request if @jar._untouched?

        stored = @jar.header(request.uri) or return request
        computed, given = request.headers.get_all("Cookie").map(&:b)
          .partition { |field| AttemptValues::Placeholder.text?(field) }
        named = given.flat_map { |field| names(field) }.to_h { |name| [name, true] }
        added = pairs(stored).reject { |pair| named.key?(name(pair)) }
        return request if added.empty?

        # A Cookie field that is computed for each attempt has no value yet, so it stays separate.
        fields = [[*given, *added].join("; "), *computed].map { |field| ["Cookie", field] }
        request.with(headers: fields)
      end

      private

      def pairs(field) = field.split(/; */n)

      def names(field) = pairs(field).map { |pair| name(pair) }

      def name(pair) = pair[/\A[^=]*/n].strip

      # The challenges before a response may set cookies, too.
      def store_cookies(last)
        [*last.challenges, last].each do |response|
          next unless response["set-cookie"]

          response.headers.get_all("Set-Cookie").each { |cookie| @jar.set(response.request.uri, cookie) }
        end
      end
    end
  end
end
