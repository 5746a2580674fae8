# frozen_string_literal: true

require_relative "../interrupts"
require_relative "../policy"
require_relative "../redacted"

module Trunkline
  class Scheduler
    # The redirects and challenges of one request. The policies are written for a single call, which waits for each
    # response; here they run in a fiber, which is suspended from each request until its result is there.
    class RedirectFlow
      include Redacted

      # @param result [Response, Exception]
      # @return [Boolean] whether it is a redirect
      def self.redirect?(result)
        result.is_a?(Response) && Policy::Redirect::STATUSES.include?(result.status) && !result["location"].nil?
      end

      # @param request [Request] the call's first; without auth, it has been sent already
      # @param redirect [Policy::Redirect, nil]
      # @param auth [#call, nil] see Policy.execute
      def initialize(request, redirect, auth = nil)
        # Blocking: a signer may wait for something, and a Fiber scheduler does not know this fiber.
        @fiber = Fiber.new(blocking: true) do |result|
          Policy.execute(request, redirect, auth) do |step|
            result ? result.tap { result = nil } : Fiber.yield(step)
          end
        end
      end

      # Starts a flow with auth.
      # @return [Request, StandardError] what to send first, or what the signer raised
      def first = after(nil)

      # @param result [Response, Error] of the last exchange
      # @return [Request, Response, StandardError] what to send next, or the result of the call
      def after(result)
        return result if result.is_a?(Exception) && !result.is_a?(StandardError) # no policy rescues it

        Interrupts.throwing_on { result.is_a?(Exception) ? @fiber.raise(result) : @fiber.resume(result) }
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : error
      end
    end
  end
end
