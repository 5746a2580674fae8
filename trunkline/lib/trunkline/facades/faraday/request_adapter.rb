# frozen_string_literal: true

require_relative "../../body"

module Trunkline
  module Facades
    module Faraday
      # Reads the request of a Faraday::Env.
      module RequestAdapter
        METHODS = %i[get head post put patch delete options trace]
          .to_h { |name| [name, name.name.upcase.freeze] }.freeze
        # Header fields that the engine writes or that have a call option: they are not passed on as fields.
        OPTIONS_BY_LENGTH = %w[transfer-encoding expect accept-encoding content-length]
          .to_h { |name| [name.length, name] }.freeze
        private_constant :METHODS, :OPTIONS_BY_LENGTH

        module_function

        # @param env [Faraday::Env]
        # @return [String]
        def http_method(env)
          METHODS[env.method] || env.method.to_s.upcase
        end

        # @param env [Faraday::Env]
        # @return [String]
        def url(env)
          env.url.to_s
        end

        # A caller that sets Accept-Encoding decodes the body itself. For a String body Content-Length is ignored, as in
        # the other adapters.
        #
        # @param env [Faraday::Env]
        # @return [Hash{Symbol => Object}] options of a call: headers:, body:, and options in place of the fields
        #   Transfer-Encoding and Expect, which the engine writes
        def call_options(env)
          fields = env.request_headers
          # env.body returns request_body until there is a status, but takes about twenty method calls.
          body = env.status ? env.body : env.request_body
          plain?(fields) ? { headers: fields, body: body } : converted(fields, body)
        end

        # Whether fields can be sent as they are.
        def plain?(fields)
          fields.each do |name, value|
            return false if !value.is_a?(String) || OPTIONS_BY_LENGTH[name.length]&.casecmp?(name)
          end
          true
        end

        def converted(fields, body)
          options = { headers: [] }
          fields.each do |name, value|
            case name.downcase
            when "transfer-encoding" then options[:body] = chunked(body)
            when "expect" then options[:expect] = 1
            when "content-length" then options[:headers] << [name, value.to_s] if body.respond_to?(:read)
            else
              options[:decode] = false if name.casecmp?("accept-encoding")
              Array(value).each { |one| options[:headers] << [name, one.to_s] }
            end
          end
          options[:body] ||= body
          options
        end

        # A body whose length is unknown is sent chunked.
        def chunked(body)
          body.respond_to?(:read) ? -> { body.read(Body::CHUNK_BYTES) } : [body.to_s].each
        end

        private_class_method :plain?, :converted, :chunked
      end
    end
  end
end
