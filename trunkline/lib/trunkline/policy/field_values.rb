# frozen_string_literal: true

require_relative "../redacted"
require_relative "redirect"

module Trunkline
  module Policy
    # Puts the values of AttemptValues into each request before it is signed and sent.
    class FieldValues
      include Redacted

      # @param values [AttemptValues]
      # @param builder [RequestBuilder]
      def initialize(values, builder)
        @values = values
        @builder = builder
      end

      # @param request [Request]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      def call(request, _call)
        yield fill(request)
      end

      # @param request [Request] as it was built
      # @return [Request] with the computed values
      # @raise [InvalidRequest]
      def fill(request)
        fields = Redirect.next_fields(request.headers, same_origin: true, same_method: true)
        filled = fields.flat_map { |name, value| @values.fetch(name, value).map { |one| [name, one] } }
        return request if filled == fields

        Policy.replace_fields(request, filled, @builder)
      end
    end
  end
end
