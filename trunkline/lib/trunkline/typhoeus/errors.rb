# frozen_string_literal: true

module Typhoeus
  # What this API raises of its own. A request that fails on the network raises nothing: see Response#return_code.
  module Errors
    class TyphoeusError < StandardError; end

    # A real request was made while connections are blocked.
    class NoStub < TyphoeusError
      # @param request [Request]
      def initialize(request)
        super("The connection is blocked and no stub defined: #{request.shown_url}")
      end
    end

    # A stub matched and has no response to give.
    class NoResponse < TyphoeusError
      # @param base_url [String, Regexp, nil]
      # @param reason [String, nil]
      def initialize(base_url, reason = nil)
        super("No response defined for stub: #{base_url.inspect}#{" (#{reason})" if reason}")
      end
    end

    # An option that no one knows, or that has another name now.
    class InvalidOption < TyphoeusError
      # @param option [Symbol]
      # @param help [String, nil]
      def initialize(option, help = nil)
        super("The option: #{option.inspect} is invalid.#{"\n#{help}" if help}")
      end
    end

    # An option, or a value of one, that only libcurl has.
    class UnsupportedOption < InvalidOption
      # @param option [Symbol]
      # @param value [Object] never a credential
      # @param allowed [String, nil] what would have been accepted
      def initialize(option, value = nil, allowed = nil)
        super(option, "#{option}#{": #{value.inspect}" unless value.nil?} is libcurl's own and not carried by " \
                      "Trunkline#{"; it takes #{allowed}" if allowed}.")
      end
    end
  end
end
