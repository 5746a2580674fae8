# frozen_string_literal: true

require "time"
require_relative "deprecation"
require_relative "errors"
require_relative "path_shape"
require_relative "policy/state"
require_relative "redacted"
require_relative "warns"

module Trunkline
  # The option deprecations:. Calls a handler once for each endpoint whose responses have a Deprecation field (RFC
  # 9745), a Sunset field (RFC 8594), or a Link with one of these relations. Frozen.
  class Deprecations
    include Redacted

    RELATIONS = %w[sunset deprecation].freeze
    # A date in the format of RFC 9651 (RFC 9745 2). Earlier drafts had an HTTP date, or a boolean.
    DATE = /\A@(-?\d{1,11})\z/
    YES = /\A(?:true|\?1|version=.+)\z/i
    private_constant :RELATIONS, :DATE, :YES

    class << self
      # @param value [Object] value of the option, as the caller gave it
      # @return [Deprecations, nil]
      # @raise [InvalidRequest]
      # @api private
      def of(value)
        case value
        when false, nil then nil
        when true then new(nil)
        when Deprecations then value
        else
          return new(value) if value.respond_to?(:call) || Warns.by?(value)

          raise InvalidRequest.of("deprecations", value, "true for the logger, what is called with each Deprecation, " \
                                                         "an ActiveSupport::Deprecation, a Logger, or false")
        end
      end

      # @param request [Request]
      # @return [String] method and URL without a query, with ":id" for path segments that look like identifiers
      # @api private
      def endpoint(request)
        "#{request.method} #{request.uri.origin}#{PathShape.of(request.uri.path)}"
      end
    end

    # @param handler [#call, #warn, nil] nil: Trunkline.logger
    # @api private
    def initialize(handler)
      @handler = handler
      freeze
    end

    # @param last [Response] the last response of a call
    # @return [void]
    # @raise [Exception] any exception of the handler
    # @api private
    def check(last)
      [*last.redirects, last].each { |response| report_once(response) if deprecation_fields?(response) }
    end

    private

    def deprecation_fields?(response)
      response["sunset"] || response["deprecation"] || response["link"]&.match?(/sunset|deprecation/i)
    end

    def report_once(response)
      deprecation = deprecation_of(response) or return
      new = false
      Policy::State.of(:deprecations, [@handler, deprecation.endpoint]) { new = true }
      report(deprecation) if new
    end

    # @return [Deprecation, nil]
    def deprecation_of(response)
      field = response["deprecation"]
      deprecated_at = date(field)
      sunset_at = date(response["sunset"])
      links = response.links.select { |link| link.rels.intersect?(RELATIONS) }.map(&:url)
      return unless deprecated_at || sunset_at || !links.empty? || response["sunset"] || field&.match?(YES)

      Deprecation.new(endpoint: Deprecations.endpoint(response.request), deprecated_at: deprecated_at,
                      sunset_at: sunset_at, links: links.uniq.freeze, response: response)
    end

    # @return [Time, nil]
    def date(text)
      text = text.to_s[/\A[^;]+/].to_s.strip
      return Time.at(Regexp.last_match(1).to_i) if DATE.match(text)

      Time.httpdate(text)
    rescue ArgumentError
      nil
    end

    def report(deprecation)
      handler = @handler || Trunkline.logger
      return handler.call(deprecation) if handler.respond_to?(:call)
      return handler.warn(deprecation.message, callers) if defined?(::ActiveSupport::Deprecation) &&
                                                           handler.is_a?(::ActiveSupport::Deprecation)

      handler.warn(deprecation.message)
    end

    LIB = "#{__dir__}/".freeze
    private_constant :LIB

    # For a call among many, these are the callers of the method that runs all of them.
    # @return [Array<Thread::Backtrace::Location>]
    def callers
      caller_locations.reject { |location| location.path.start_with?(LIB) }
    end
  end
end
