# frozen_string_literal: true

require_relative "../../errors"

module Trunkline
  module Facades
    module Faraday
      # Maps errors to Faraday's classes.
      module Errors
        module_function

        # @param error [Error]
        # @return [Faraday::Error] with error as its wrapped_exception
        def convert(error)
          case error
          when TimeoutError then ::Faraday::TimeoutError.new(error)
          when TLSError then ::Faraday::SSLError.new(error)
          else ::Faraday::ConnectionFailed.new(error)
          end
        end
      end
    end
  end
end
