# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "interrupts"
require_relative "policy"
require_relative "proxy"
require_relative "redacted"

module Trunkline
  # The rules of a call beyond one exchange: the chain of its policies, the total timeout, a proxy's 407, and raise:.
  # All calls of a client with the same follow: share one. A call whose first answer is its result has none. Frozen.
  #
  # @api private
  class CallPolicy
    include Redacted

    # @return [RequestBuilder]
    attr_reader :requests
    # @return [Policy::Chain]
    attr_reader :chain
    # @return [Array<Object>] the client's probes
    attr_reader :probes
    # @return [Policy::Rate, nil] what holds requests back before they start (see Scheduler)
    attr_reader :rate

    # @param requests [RequestBuilder]
    # @param chain [Policy::Chain]
    # @param total [Float, nil] seconds for all exchanges of a call together
    # @param raises [Boolean] whether a final answer of 4xx or 5xx is an error
    # @param deprecations [Deprecations, nil] who looks at each result
    # @param proxy_answers [Boolean] whether a proxy's 407 is an answer like others
    # @param probes [Array<Object>] the client's own (see Instrument)
    # @param background [#call, nil] given a request, a CallPolicy, and a block for the result
    def initialize(requests, chain: Policy::Chain.new([]), total: nil, raises: false, deprecations: nil,
                   proxy_answers: false, probes: [].freeze,
                   background: nil)
      @requests = requests
      @chain = chain
      @total = total
      @raises = raises
      @proxy_answers = proxy_answers
      @probes = probes
      @deprecations = deprecations
      @rate = chain.rate
      @background = background
      @only_follows = probes.empty? && chain.policies.all?(Policy::Redirect)
      freeze
    end

    # @return [Boolean] whether a call may be more than one exchange, or a request is not sent as it was composed,
    #   or probes watch it
    def repeats? = !@chain.empty? || !@probes.empty?

    # @return [Boolean] whether the first exchange is as without policies, and only a redirect makes others follow
    def only_follows? = @only_follows

    # @param now [Float] monotonic seconds, when the call begins
    # @return [Float, nil] when it must be over
    def deadline(now)
      @total && (now + @total)
    end

    # Takes a request through the chain.
    #
    # @param request [Request]
    # @param driver [Policy::ThreadDriver, Scheduler::Flow]
    # @param began [Float] monotonic seconds
    # @param surroundings [Surroundings, nil]
    # @return [Response]
    # @raise [Error]
    def perform(request, driver, began, surroundings = nil)
      call = Policy::Call.new(self, request, driver, began, surroundings)
      call.watched { judged(@chain.forward(request, call)) }
    rescue Policy::Call::Correctable => error
      raise call.of_whole_call(error)
    end

    # RFC 9110 15.5.8: a proxy that wants credentials answers itself, and its server has not been asked.
    #
    # @param response [Response]
    # @return [Response, Error] an Error for a proxy's 407
    def checked(response)
      return response if response.status != 407 || @proxy_answers

      proxy = response.request.origin.forwarder
      proxy ? Proxy.refused(proxy, response) : response
    end

    # @param response [Response, nil] the last of the call
    # @return [Response, Exception, nil] what the call results in: the Response; with raise:, a StatusError; what a
    #   handler of deprecations: raises
    def result(response)
      @deprecations&.look_at(response) if response
      @raises && response && response.status >= 400 ? response._status_error : response
    rescue StandardError => error
      Interrupts.ended_by?(error) ? raise : error
    end

    # Runs the policies behind one of the chain for a request, in the background.
    #
    # @param policy [#call]
    # @param request [Request]
    # @yield [result] a Response or an Error
    # @return [nil]
    def in_background(policy, request, &block)
      rest = CallPolicy.new(@requests, chain: @chain.after(policy), total: @total, proxy_answers: @proxy_answers,
                                       probes: @probes, background: @background)
      @background.call(request, rest, &block)
      nil
    end

    private

    def judged(response)
      result = result(response)
      result.is_a?(Exception) ? raise(result) : result
    end
  end
end
