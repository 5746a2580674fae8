# frozen_string_literal: true

module Typhoeus
  # What this API raises of its own. A request that fails on the network raises nothing: see Response#return_code.
  module Errors
    class TyphoeusError < StandardError; end

    # A real request was made while connections are blocked.
    class NoStub < TyphoeusError
      # @param request [Request]
      def initialize(request)
        super("The connection is blocked and no stub defined: #{::Trunkline::URL.redact(request.shown_url)}")
      end
    end

    # A stub matched and has no response to give.
    class NoResponse < TyphoeusError
      # @param base_url [String, Regexp, nil]
      # @param reason [String, nil]
      def initialize(base_url, reason = nil)
        shown = base_url.is_a?(Regexp) ? base_url : ::Trunkline::URL.redact(base_url.to_s) unless base_url.nil?
        super("No response defined for stub: #{shown.inspect}#{" (#{reason})" if reason}")
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
      # @param value [Object] shown as far as no credential can be in it
      # @param allowed [String, nil] what would have been accepted
      def initialize(option, value = nil, allowed = nil)
        super(option, "#{option}#{unless value.nil?
                                    ": #{::Trunkline::InvalidRequest.shown(option,
                                                                           value)}"
                                  end} is libcurl's own and not carried by " \
                      "Trunkline#{"; it takes #{allowed}" if allowed}.")
      end
    end
  end
end
