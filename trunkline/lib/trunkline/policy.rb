# frozen_string_literal: true

require_relative "policy/auth"
require_relative "policy/auth/digest"
require_relative "policy/redirect"

module Trunkline
  # What may stand between a call and the engine, one rule a file. A call that asks for none meets none.
  #
  # @api private
  module Policy
    # Takes a call through its challenges and redirects.
    #
    # @param plan [Composer::Plan]
    # @param redirect [Redirect, nil] what follows redirects
    # @param auth [#call, nil] what signs: an Auth, or its like
    # @yield [plan] performs it and returns its Response
    # @return [Response]
    # @raise [RedirectError, AuthError]
    def self.carry(plan, redirect, auth, &once)
      signing = auth ? ->(step) { auth.call(step, &once) } : once
      redirect ? redirect.follow(plan, &signing) : signing.call(plan)
    end

    # @param fields [Array<Array(String, String)>] to lay over the request's own
    # @return [Composer::Plan]
    def self.dress(plan, fields, composer)
      request = plan.request
      own = Redirect.next_fields(request.headers, same_origin: true, same_method: true)
      dressed = Headers.overlay(own, fields) << ["Accept-Encoding", nil] # none but what was asked for at first
      composer.build(request.method, request.uri, dressed, plan.content)
    end
  end
end
