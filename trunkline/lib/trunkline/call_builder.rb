# frozen_string_literal: true

require_relative "call_policy"
require_relative "errors"
require_relative "options"
require_relative "redacted"

module Trunkline
  # Composes the requests of many calls at once: of a method, a URL and options it makes what is sent, and the
  # CallPolicy. A client has one, and gives it to its batches and futures, which need nothing else of the client.
  #
  # @api private
  class CallBuilder
    include Redacted

    # @return [Family] whose pool the calls use
    attr_reader :family
    # @return [CallPolicy] of a call without options of its own
    attr_reader :policy

    # @param composer [Composer]
    # @param options [Options] the client's
    # @param base [URL, nil]
    # @param family [Family]
    # @yield [options] that hold for more than a call, such as timeout:
    # @yieldreturn [CallBuilder] of a client with them
    def initialize(composer, options, base, family, &variant)
      @composer = composer
      @options = options
      @base = base
      @family = family
      @variant = variant
      @policy = policy_of(options.follow)
    end

    # Fills in plan and policy of a request.
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

      pending.plan = @composer.plan(method, url)
      pending.policy = @policy
      pending
    end

    # @param options [Hash] of one call, checked
    # @return [CallPolicy]
    def policy_for(options)
      options.key?(:follow) ? policy_of(options[:follow]) : @policy
    end

    protected

    # @param options [Hash] of this call alone
    def prepare_own(pending, method, url, options)
      checked = Options.check_call(options)
      pending.plan = @composer.plan(method, url, checked)
      pending.policy = policy_for(checked)
      pending
    end

    private

    def prepare_with(options, pending, method, url)
      raise InvalidRequest.of("options", options, "a Hash, such as timeout: 2") unless options.is_a?(Hash)

      own = options.slice(*Options::PER_CALL)
      raise InvalidRequest, "stream: cannot be had among many requests: their answers come as a whole" if own[:stream]

      builder = own.size == options.size ? self : @variant.call(options.except(*Options::PER_CALL))
      builder.prepare_own(pending, method, url, own)
    end

    def policy_of(follow)
      CallPolicy.new(@composer, follow: follow, signer: @options.digest || @options.auth, base: @base,
                                total: @options.timeout&.total)
    end
  end
end
