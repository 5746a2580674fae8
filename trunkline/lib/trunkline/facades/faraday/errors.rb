# frozen_string_literal: true

require_relative "../../errors"

module Trunkline
  module Facades
    module Faraday
      # Maps errors to Faraday's classes.
      module Errors
        # Beginnings of the InvalidRequest messages for which Faraday's other adapters raise a Faraday::Error.
        URL = /\A(?:request \d+: )?url:/
        TLS_FILE = /\A(?:request \d+: )?(?:ca_file|ca_path|client_cert|client_key):/

        module_function

        # @param error [Error, InvalidRequest]
        # @return [Faraday::Error, InvalidRequest] with error as its wrapped_exception; an InvalidRequest that is about
        #   neither the URL nor a TLS file, unchanged
        def convert(error)
          case error
          when InvalidRequest then invalid(error)
          when TimeoutError then ::Faraday::TimeoutError.new(error)
          when TLSError then ::Faraday::SSLError.new(error)
          else ::Faraday::ConnectionFailed.new(error)
          end
        end

        def invalid(error)
          case error.message
          when URL then ::Faraday::ConnectionFailed.new(error)
          when TLS_FILE then ::Faraday::SSLError.new(error)
          else error
          end
        end

        private_class_method :invalid
      end
    end
  end
end
