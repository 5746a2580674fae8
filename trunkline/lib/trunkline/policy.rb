# frozen_string_literal: true

require_relative "policy/auth"
require_relative "policy/auth/digest"
require_relative "policy/call"
require_relative "policy/chain"
require_relative "policy/field_values"
require_relative "policy/redirect"
require_relative "policy/thread_driver"

module Trunkline
  # The policies that run around the exchanges of a call: redirects, authentication, retries and the others in
  # docs/policies.md.
  #
  # @api private
  module Policy
    %i[Breaker Budget Cache Coalesce ContentDigest Cookies DeadlineHeader Expectation Hedge Middleware Rate Retry
       PolicyOptions Signal State]
      .each { |name| autoload name, "#{__dir__}/policy/#{name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase}" }

    # Policies that have statistics (.stats), by their keys in Client#stats.
    WITH_STATS = { breakers: :Breaker, budgets: :Retry, hedges: :Hedge, rates: :Rate, caches: :Cache }.freeze
    private_constant :WITH_STATS

    # @return [Hash{Symbol => Hash}] the statistics of the policies for the whole process; {} for a policy that was
    #   never used
    def self.stats
      WITH_STATS.transform_values { |policy| autoload?(policy) ? {} : const_get(policy).stats }
    end

    # @param fields [Array<Array(String, String)>] header fields to add to the request; they replace those of the same
    #   name
    # @param builder [RequestBuilder]
    # @return [Request]
    def self.add_fields(request, fields, builder)
      existing = Redirect.next_fields(request.headers, same_origin: true, same_method: true)
      replace_fields(request, Headers.overlay(existing, fields), builder)
    end

    # @param fields [Array<Array(String, String)>] all header fields of the new request, except those that frame the
    #   content
    # @param builder [RequestBuilder]
    # @return [Request]
    def self.replace_fields(request, fields, builder)
      fields << ["Accept-Encoding", nil] # no default is added: the first request decides
      builder.rebuild(request, request.method, request.uri, fields, true)
    end
  end
end
