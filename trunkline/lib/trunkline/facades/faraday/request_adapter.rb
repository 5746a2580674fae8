# frozen_string_literal: true

require_relative "../../body"

module Trunkline
  module Facades
    module Faraday
      # Reads the request of a Faraday::Env.
      module RequestAdapter
        module_function

        # @param env [Faraday::Env]
        # @return [Array(String, String)] method and URL
        def target(env)
          [env[:method].to_s.upcase, env[:url].to_s]
        end

        # A caller that sends Accept-Encoding decodes the body itself.
        #
        # @param env [Faraday::Env]
        # @return [Hash{Symbol => Object}] options of a call: headers:, body:, and options in place of the fields
        #   Transfer-Encoding and Expect, which the engine writes
        def call_options(env)
          options = { headers: [] }
          env[:request_headers].each do |name, value|
            case name.downcase
            when "transfer-encoding" then options[:body] = chunked(env[:body])
            when "expect" then options[:expect] = 1
            else
              options[:decode] = false if name.casecmp?("accept-encoding")
              Array(value).each { |one| options[:headers] << [name, one.to_s] }
            end
          end
          options[:body] ||= env[:body]
          options
        end

        # A body whose length is unknown is sent chunked.
        def chunked(body)
          body.respond_to?(:read) ? -> { body.read(Body::CHUNK_BYTES) } : [body.to_s].each
        end

        private_class_method :chunked
      end
    end
  end
end
