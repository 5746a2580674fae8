# frozen_string_literal: true

require_relative "policy/auth"
require_relative "policy/auth/digest"
require_relative "policy/field_values"
require_relative "policy/redirect"

module Trunkline
  # Redirects and authentication: what happens around the exchanges of a call.
  #
  # @api private
  module Policy
    # Takes a call through its challenges and redirects.
    #
    # @param request [Request]
    # @param redirect [Redirect, nil] what follows redirects
    # @param auth [#call, nil] what signs: an Auth, or its like
    # @yield [request] sends it and returns its Response
    # @return [Response]
    # @raise [RedirectError, AuthError]
    def self.execute(request, redirect, auth, &send_once)
      signing = auth ? ->(step) { auth.call(step, &send_once) } : send_once
      redirect ? redirect.follow(request, &signing) : signing.call(request)
    end

    # @param fields [Array<Array(String, String)>] to lay over the request's own
    # @param builder [RequestBuilder]
    # @return [Request]
    def self.add_fields(request, fields, builder)
      own = Redirect.next_fields(request.headers, same_origin: true, same_method: true)
      replace_fields(request, Headers.overlay(own, fields), builder)
    end

    # @param fields [Array<Array(String, String)>] all but those that frame the content
    # @param builder [RequestBuilder]
    # @return [Request]
    def self.replace_fields(request, fields, builder)
      fields << ["Accept-Encoding", nil] # none but what was asked for at first
      builder.rebuild(request, request.method, request.uri, fields, true)
    end
  end
end
