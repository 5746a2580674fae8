# frozen_string_literal: true

require_relative "errors"
require_relative "policy"
require_relative "proxy"
require_relative "redacted"

module Trunkline
  # The rules of a call beyond one exchange: redirects, challenges, the total timeout, a proxy's 407, and raise:. All
  # calls of a client with the same follow: share one. A call whose first answer is its result has none. Frozen.
  #
  # @api private
  class CallPolicy
    include Redacted

    # @return [Policy::Redirect, nil]
    attr_reader :redirect

    # @param requests [RequestBuilder]
    # @param follow [Integer, false, nil] how many redirects at most
    # @param signer [#sign, #retry?, nil]
    # @param values [AttemptValues, nil] what the caller computes for each request
    # @param base [URL, nil] whose origin the signer's credentials are for; nil: that of each call's own URL
    # @param total [Float, nil] seconds for all exchanges of a call together
    # @param raises [Boolean] whether a final answer of 4xx or 5xx is an error
    def initialize(requests, follow: nil, signer: nil, values: nil, base: nil, total: nil, raises: false)
      @requests = requests
      @redirect = follow ? Policy::Redirect.new(follow, requests) : nil
      @signer = signer
      @values = values ? Policy::FieldValues.new(values, requests) : nil
      @base = base
      @total = total
      @raises = raises
      freeze
    end

    # @return [Boolean] whether a call may be more than one exchange, or a request is not sent as it was composed
    def repeats? = !(@redirect.nil? && @signer.nil? && @values.nil?)

    # @return [Boolean] whether each request is completed before it is sent: by callable values, a signature, or both
    def signs? = !(@signer.nil? && @values.nil?)

    # @param request [Request] the call's first
    # @return [Policy::Auth, Policy::FieldValues, nil]
    def auth(request)
      @signer ? Policy::Auth.new(@signer, (@base || request.uri).origin, @requests, @values) : @values
    end

    # @param now [Float] monotonic seconds, when the call begins
    # @return [Float, nil] when it must be over
    def deadline(now)
      @total && (now + @total)
    end

    # RFC 9110 15.5.8: a proxy that wants credentials answers itself, and its server has not been asked.
    #
    # @param response [Response]
    # @return [Response, Error] an Error for a proxy's 407
    def checked(response)
      return response unless response.status == 407

      proxy = response.request.origin.forwarder
      proxy ? Proxy.refused(proxy, response) : response
    end

    # @param response [Response, nil] the last of the call
    # @return [Response, StatusError, nil] what the call results in
    def result(response)
      @raises && response && response.status >= 400 ? response._status_error : response
    end

    # Corrects an error of one exchange: its times are those of the whole call.
    #
    # @param error [Error]
    # @param began [Float] when the call began
    # @param now [Float]
    # @return [Error]
    def of_whole_call(error, began, now)
      error.retold({ elapsed: now - began, limit: (@total if error.is_a?(TotalTimeout)) }.compact)
    end
  end
end
