# frozen_string_literal: true

require_relative "policy/auth"
require_relative "policy/auth/digest"
require_relative "policy/call"
require_relative "policy/chain"
require_relative "policy/field_values"
require_relative "policy/redirect"
require_relative "policy/thread_driver"

module Trunkline
  # What happens around the exchanges of a call: redirects, authentication, retries and the rest of docs/policies.md.
  #
  # @api private
  module Policy
    %i[Breaker Budget Cache Coalesce ContentDigest Cookies DeadlineHeader Expectation Hedge Middleware Rate Retry
       Settings Signal State]
      .each { |name| autoload name, "#{__dir__}/policy/#{name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase}" }

    # What policies know, by their name in Client#stats. Each has .stats.
    KNOWING = { breakers: :Breaker, budgets: :Retry, hedges: :Hedge, rates: :Rate, caches: :Cache }.freeze
    private_constant :KNOWING

    # @return [Hash{Symbol => Hash}] of the whole process; of a policy that was never used, {}
    def self.stats
      KNOWING.transform_values { |policy| autoload?(policy) ? {} : const_get(policy).stats }
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
