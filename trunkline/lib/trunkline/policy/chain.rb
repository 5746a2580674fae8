# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  module Policy
    # Policies in their order: each is called with what the one before it forwards. Frozen.
    #
    # A policy has call(request, call), where call is a Call, and yields the request, or another, to the rest of the
    # chain, which returns its Response or raises an Error.
    #
    # @api private
    class Chain
      include Redacted

      # @return [Array<#call>]
      attr_reader :policies
      # @return [String, nil] names the signer; unique among processes
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
      # @param follow [Integer, false, nil] how many redirects at most
      # @param values [AttemptValues, nil] what the caller computes for each request
      # @param base [URL, nil] whose origin the credentials are for
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

      # @return [Expectation, nil] nil for what answers as Net::HTTP does, too
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
      # @param at [Integer] the first policy that is asked
      # @return [Response]
      # @raise [Error]
      def forward(request, call, at = 0)
        policy = @policies[at] or return call.exchange(request)

        policy.call(request, call) { |following| forward(following, call, at + 1) }
      end

      # @param request [Request]
      # @return [Request] with the fields that policies of the chain give it, but a signature
      def completed(request)
        return request if @filling.empty?

        @filling.reduce(request) { |one, policy| policy.fill(one) }
      end

      # @param policy [#call]
      # @return [Chain] of those behind it
      def after(policy)
        Chain.new(@policies.drop(@policies.index { |one| one.equal?(policy) } + 1))
      end
    end
  end
end
