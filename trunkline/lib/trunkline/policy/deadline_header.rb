# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  module Policy
    # Tells the server with each attempt how long the caller will wait for its answer.
    class DeadlineHeader
      include Redacted

      # @param name [String] of the field
      def initialize(name)
        @name = name
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] with the seconds that are left, to three decimals
      # @return [Response]
      def call(request, call)
        left = call.left or return yield(request)

        call.check_deadline!
        yield Policy.add_fields(request, [[@name, format("%.3f", left)]], call.builder)
      end
    end
  end
end
