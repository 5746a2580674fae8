# frozen_string_literal: true

require_relative "attempt_values"
require_relative "call_policy"
require_relative "errors"
require_relative "options"
require_relative "redacted"
require_relative "request_builder"

module Trunkline
  # Makes the Request and the CallPolicy of a method, a URL and options. A client gives it to its batches and futures,
  # which need nothing else of the client.
  #
  # @api private
  class CallBuilder
    include Redacted

    # @return [Family] whose pool the calls use
    attr_reader :family
    # @return [CallPolicy, nil] of a call without options of its own
    attr_reader :policy

    # @return [RequestBuilder]
    attr_reader :requests

    # @param requests [RequestBuilder]
    # @param options [Options] the client's
    # @param base [URL, nil]
    # @param family [Family]
    # @yield [options] that hold for more than a call, such as timeout:
    # @yieldreturn [CallBuilder] of a client with them
    def initialize(requests, options, base, family, &variant)
      @requests = requests
      @options = options
      @base = base
      @family = family
      @variant = variant
      @values = AttemptValues.of(options.headers, options.bearer, options.basic)
      @policy = policy_of(options.follow)
    end

    # Fills in request and policy.
    #
    # @param pending [Scheduler::PendingRequest]
    # @param method [String, Symbol]
    # @param url [String, URI, URL, nil]
    # @param options [Hash, nil] of the call
    # @return [Scheduler::PendingRequest] pending
    # @raise [InvalidRequest]
    # @raise [MissingTimeout]
    def prepare(pending, method, url, options = nil)
      return prepare_with(options, pending, method, url) if options

      pending.request = @requests.build(method, url, nil, pending.streamed)
      pending.policy = @policy
      pending
    end

    # @param request [Request]
    # @param values [AttemptValues, nil] of the call
    # @return [CallPolicy, nil] nil: the first response is the call's result
    def policy_for(request, values = nil)
      request.follow == @options.follow && values.nil? ? @policy : policy_of(request.follow, values)
    end

    protected

    # @param options [Hash] of this call alone
    # @param values [AttemptValues, nil] of this call
    def prepare_own(pending, method, url, options, values = nil)
      pending.request = @requests.build(method, url, options, pending.streamed)
      pending.policy = policy_for(pending.request, values)
      pending
    end

    private

    def prepare_with(options, pending, method, url)
      raise InvalidRequest.of("options", options, "a Hash, such as timeout: 2") unless options.is_a?(Hash)
      if options[:stream]
        raise InvalidRequest, "stream: cannot be had among many requests: their answers come as a whole"
      end
      return prepare_own(pending, method, url, options) if RequestBuilder.per_call?(options)

      builder = @variant.call(options.except(*Options::PER_CALL))
      builder.prepare_own(pending, method, url, *AttemptValues.of_call(options.slice(*Options::PER_CALL)))
    end

    def policy_of(follow, values = nil)
      signer = @options.digest || @options.auth
      values = @values&.merge(values) || values
      return unless follow || signer || values || @options.raises? || @requests.forwards?

      CallPolicy.new(@requests, follow: follow, signer: signer, values: values, base: @base,
                                total: @options.timeout&.total, raises: @options.raises?)
    end
  end
end
