# frozen_string_literal: true

module Typhoeus
  # Exceptions of this API. A request that fails on the network raises none: see Response#return_code.
  module Errors
    class TyphoeusError < StandardError; end

    # A request has no stub while connections are blocked.
    class NoStub < TyphoeusError
      # @param request [Request]
      def initialize(request)
        super("The connection is blocked and no stub defined: #{::Trunkline::URL.redact(request.shown_url)}")
      end
    end

    # A stub matched and has no response.
    class NoResponse < TyphoeusError
      # @param base_url [String, Regexp, nil]
      # @param reason [String, nil]
      def initialize(base_url, reason = nil)
        shown = base_url.is_a?(Regexp) ? base_url : ::Trunkline::URL.redact(base_url.to_s) unless base_url.nil?
        super("No response defined for stub: #{shown.inspect}#{" (#{reason})" if reason}")
      end
    end

    # An unknown option, or one that was renamed.
    class InvalidOption < TyphoeusError
      # @param option [Symbol]
      # @param help [String, nil]
      def initialize(option, help = nil)
        super("The option: #{option.inspect} is invalid.#{"\n#{help}" if help}")
      end
    end

    # An option, or a value of one, that only libcurl supports.
    class UnsupportedOption < InvalidOption
      # @param option [Symbol]
      # @param value [Object] shown unless it can contain a credential
      # @param allowed [String, nil] supported values
      def initialize(option, value = nil, allowed = nil)
        shown = ": #{::Trunkline::InvalidRequest.shown(option, value)}" unless value.nil?
        super(option, "#{option}#{shown} is libcurl's own and not carried by " \
                      "Trunkline#{"; it takes #{allowed}" if allowed}.")
      end
    end
  end
end
