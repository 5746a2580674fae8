# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "interrupts"
require_relative "policy"
require_relative "proxy"
require_relative "redacted"

module Trunkline
  # The rules for a call beyond a single exchange: its chain of policies, the total timeout, a proxy's 407, and raise:.
  # All calls of a client with the same follow: share one. A call whose first response is its result has none. Frozen.
  #
  # @api private
  class CallPolicy
    include Redacted

    # @return [RequestBuilder]
    attr_reader :requests
    # @return [Policy::Chain]
    attr_reader :chain
    # @return [Array<Object>] probes of the client
    attr_reader :probes
    # @return [Policy::Rate, nil] delays requests before they start (see Scheduler)
    attr_reader :rate

    # @param requests [RequestBuilder]
    # @param chain [Policy::Chain]
    # @param total [Float, nil] seconds for all exchanges of a call together
    # @param raises [Boolean] whether a final response with status 4xx or 5xx is an error
    # @param deprecations [Deprecations, nil] checks each result
    # @param pass_proxy_407 [Boolean] whether a proxy's 407 is an ordinary response, and not an error
    # @param probes [Array<Object>] probes of the client (see Instrument)
    # @param background [#call, nil] sends a request in the background; takes a request, a CallPolicy, and a block that
    #   gets the result
    def initialize(requests, chain: Policy::Chain.new([]), total: nil, raises: false, deprecations: nil,
                   pass_proxy_407: false, probes: [].freeze,
                   background: nil)
      @requests = requests
      @chain = chain
      @total = total
      @raises = raises
      @pass_proxy_407 = pass_proxy_407
      @probes = probes
      @deprecations = deprecations
      @rate = chain.rate
      @background = background
      @only_follows = probes.empty? && chain.policies.all?(Policy::Redirect)
      freeze
    end

    # @return [Boolean] whether a call may take more than one exchange, or a policy may change its request, or probes
    #   watch it
    def repeats? = !@chain.empty? || !@probes.empty?

    # @return [Boolean] whether the first exchange needs no policies, and only a redirect leads to further ones
    def only_follows? = @only_follows

    # @param now [Float] monotonic seconds, when the call begins
    # @return [Float, nil] the deadline of the call in monotonic seconds; nil without a total timeout
    def deadline(now)
      @total && (now + @total)
    end

    # Runs a request through the chain.
    #
    # @param request [Request]
    # @param driver [Policy::ThreadDriver, Scheduler::Flow]
    # @param began [Float] monotonic seconds
    # @param caller_context [CallerContext, nil]
    # @return [Response]
    # @raise [Error]
    def perform(request, driver, began, caller_context = nil)
      call = Policy::Call.new(self, request, driver, began, caller_context)
      call.report_end { raise_or_return(@chain.forward(request, call)) }
    rescue Policy::Call::Correctable => error
      raise call.of_whole_call(error)
    end

    # A 407 is the response of the proxy itself; the request has not reached the server (RFC 9110 15.5.8).
    #
    # @param response [Response]
    # @return [Response, Error] an Error for a 407 of a proxy
    def check_proxy_response(response)
      return response if response.status != 407 || @pass_proxy_407

      proxy = response.request.origin.forwarder
      proxy ? Proxy.refused(proxy, response) : response
    end

    # @param response [Response, nil] the last response of the call
    # @return [Response, Exception, nil] the result of the call: the Response; a StatusError with raise:; or the
    #   exception of a deprecations: handler
    def result(response)
      @deprecations&.check(response) if response
      @raises && response && response.status >= 400 ? response._status_error : response
    rescue StandardError => error
      Interrupts.ended_by?(error) ? raise : error
    end

    # Sends a request in the background through the policies that follow the given one in the chain.
    #
    # @param policy [#call]
    # @param request [Request]
    # @yield [result] a Response or an Error
    # @return [nil]
    def in_background(policy, request, &block)
      rest = CallPolicy.new(@requests, chain: @chain.after(policy), total: @total, pass_proxy_407: @pass_proxy_407,
                                       probes: @probes, background: @background)
      @background.call(request, rest, &block)
      nil
    end

    private

    def raise_or_return(response)
      result = result(response)
      result.is_a?(Exception) ? raise(result) : result
    end
  end
end
