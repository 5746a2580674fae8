# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  module Policy
    # Sends with each attempt the time until the call's deadline.
    class DeadlineHeader
      include Redacted

      # @param name [String] of the field
      def initialize(name)
        @name = name
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] with the remaining seconds in the field, to three decimals
      # @return [Response]
      def call(request, call)
        left = call.left or return yield(request)

        call.check_deadline!
        yield Policy.add_fields(request, [[@name, format("%.3f", left)]], call.builder)
      end
    end
  end
end
