# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  module Policy
    # The policies in their order: each is called with the request that the one before it yields. Frozen.
    #
    # The method call(request, call) of a policy takes a Call. It yields the request, or another one, to the rest of the
    # chain, which returns the Response or raises an Error.
    #
    # @api private
    class Chain
      include Redacted

      # @return [Array<#call>]
      attr_reader :policies
      # @return [String, nil] identifies the signer; unique among processes
      attr_reader :signer_name

      # @param policies [Array<#call>]
      def initialize(policies)
        @policies = policies.freeze
        @filling = policies.select { |policy| policy.respond_to?(:fill) }
        @signer_name = policies.grep(Auth).first&.name
        freeze
      end

      # @param options [Options] of a client
      # @param requests [RequestBuilder]
      # @param follow [Integer, false, nil] maximum number of redirects
      # @param values [AttemptValues, nil] values that the caller computes for each request
      # @param base [URL, nil] the credentials are for its origin
      # @return [Chain] in the order of docs/policies.md
      def self.of(options, requests, follow: nil, values: nil, base: nil)
        signer = options.digest || options.auth
        fields = values && FieldValues.new(values, requests)
        new([*options.use, options.content_digest, options.cache, options.coalesce,
             (Redirect.new(follow, requests) if follow),
             options.cookies,
             (Auth.new(signer, base&.origin, requests, fields) if signer),
             expectation(options, requests),
             options.retry,
             (fields unless signer),
             options.breaker, options.rate,
             (DeadlineHeader.new(options.deadline_header) if options.deadline_header),
             options.hedge&.within(options.rate)].select(&:itself))
      end

      # @return [Expectation, nil] nil also for a lenient client, which returns the 417 as Net::HTTP does
      def self.expectation(options, requests)
        Expectation.new(requests) if options.expect && !options.lenient?
      end
      private_class_method :expectation

      # @return [Rate, nil]
      def rate = @policies.find { |policy| policy.respond_to?(:delay) }

      # @return [Boolean]
      def empty? = @policies.empty?

      # @param request [Request]
      # @param call [Call]
      # @param at [Integer] index of the first policy to call
      # @return [Response]
      # @raise [Error]
      def forward(request, call, at = 0)
        policy = @policies[at] or return call.exchange(request)

        policy.call(request, call) { |following| forward(following, call, at + 1) }
      end

      # @param request [Request]
      # @return [Request] with the fields that policies of the chain add, except the signature
      def with_policy_fields(request)
        return request if @filling.empty?

        @filling.reduce(request) { |one, policy| policy.fill(one) }
      end

      # @param policy [#call]
      # @return [Chain] of the policies behind this one
      def after(policy)
        Chain.new(@policies.drop(@policies.index { |one| one.equal?(policy) } + 1))
      end
    end
  end
end
