# frozen_string_literal: true

require_relative "attempt_values"
require_relative "call_policy"
require_relative "errors"
require_relative "of_main_ractor"
require_relative "options"
require_relative "redacted"
require_relative "request_builder"
require_relative "caller_context"

module Trunkline
  # Makes the Request and the CallPolicy of a call from a method, a URL and options. Batches and futures of a client
  # need only its CallBuilder.
  #
  # @api private
  class CallBuilder
    include OfMainRactor
    include Redacted

    # @return [PoolHandle] names the pool that the calls use
    attr_reader :pool_handle
    # @return [CallPolicy, nil] for calls without their own options; nil when the first response is the result
    attr_reader :policy

    # @return [RequestBuilder]
    attr_reader :requests

    # @param requests [RequestBuilder]
    # @param options [Options] options of the client
    # @param base [URL, nil] base URL of the client
    # @param pool_handle [PoolHandle]
    # @yield [options] options that only a client can have, such as timeout:, when a call gives some
    # @yieldreturn [CallBuilder] the builder of a client with these options
    def initialize(requests, options, base, pool_handle, &derive)
      @anchor = OfMainRactor::ANCHOR
      @requests = requests
      @options = options
      @base = base
      @pool_handle = pool_handle
      @derive = derive
      @values = AttemptValues.of(options.headers, options.bearer, options.basic)
      @policy = policy_of(options.follow)
    end

    # Sets request and policy of a pending request.
    #
    # @param pending [Scheduler::PendingRequest]
    # @param method [String, Symbol]
    # @param url [String, URI, URL, nil] nil: the base URL
    # @param options [Hash, nil] options of the call
    # @return [Scheduler::PendingRequest] pending
    # @raise [InvalidRequest]
    # @raise [MissingTimeout]
    def prepare(pending, method, url, options = nil)
      return prepare(pending, method, nil, url) if options.nil? && url.is_a?(Hash)
      return prepare_with(options, pending, method, url) if options

      pending.request = @requests.build(method, url, nil, pending.mode)
      pending.policy = @policy
      attach_caller_context(pending) if CallerContext.needed?
      pending
    end

    # Attaches the CallerContext (deadline and probe contexts) of the current thread to a call.
    #
    # @param pending [Scheduler::PendingRequest] complete
    # @return [void]
    def attach_caller_context(pending)
      pending.caller_context ||= CallerContext.current or return

      pending.policy ||= bare_policy
    end

    # @return [CallPolicy] for a call that needs no policy, but has a CallerContext
    def bare_policy = @bare_policy ||= call_policy

    # @param request [Request]
    # @param values [AttemptValues, nil] callable values of the call
    # @return [CallPolicy, nil] nil when the first response is the result of the call
    def policy_for(request, values = nil)
      request.follow == @options.follow && values.nil? ? @policy : policy_of(request.follow, values)
    end

    protected

    # @param options [Hash] options of this call alone
    # @param values [AttemptValues, nil] callable values of this call
    def prepare_per_call(pending, method, url, options, values = nil)
      pending.request = @requests.build(method, url, options, pending.mode)
      pending.policy = policy_for(pending.request, values)
      attach_caller_context(pending) if CallerContext.needed?
      pending
    end

    private

    def prepare_with(options, pending, method, url)
      raise InvalidRequest.of("options", options, "a Hash, such as timeout: 2") unless options.is_a?(Hash)
      raise InvalidRequest, "stream: cannot be had among many requests: give on_chunk: or on_event:" if options[:stream]
      if options[:progress] == true
        raise InvalidRequest, "progress: true draws the bar of one call: among many requests it must be callable"
      end

      if (blocks = Scheduler::StreamBlocks.of(options))
        pending.streamed = blocks
        options = options.except(*Scheduler::StreamBlocks::NAMES)
      end
      return prepare_per_call(pending, method, url, options) if RequestBuilder.per_call?(options)

      builder = @derive.call(options.except(*Options::PER_CALL))
      builder.prepare_per_call(pending, method, url, *AttemptValues.of_call(options.slice(*Options::PER_CALL)))
    end

    def policy_of(follow, values = nil)
      values = @values&.merge(values) || values
      chain = Policy::Chain.of(@options, @requests, follow: follow, values: values, base: @base)
      needless = chain.empty? && !@options.raises? && !@requests.forwards? && @options.deprecation_handler.nil? &&
                 @options.probes.empty?
      call_policy(chain) unless needless
    end

    def call_policy(chain = Policy::Chain.new([]))
      CallPolicy.new(@requests, chain: chain, total: @options.timeout&.total, raises: @options.raises?,
                                deprecations: @options.deprecation_handler,
                                pass_proxy_407: @options.lenient?, probes: @options.probes,
                                background: method(:submit))
    end

    def submit(request, policy, &block)
      pending = Scheduler::PendingRequest.new(request)
      pending.request = request
      pending.policy = policy
      future = pending.callback = Future.new(pending, @pool_handle)
      future.on_ready(&block)
      Scheduler::FutureThread.submit(@pool_handle.pool, pending, background_options)
    end

    def background_options
      Scheduler::BatchOptions.new({}, @options.max_connections_per_host)
    end
  end
end
