# frozen_string_literal: true

require_relative "../interrupts"
require_relative "../policy"
require_relative "../redacted"

module Trunkline
  module Many
    # The redirects and challenges of one request among many. The policies are written for one call that waits for each
    # answer; here they run in a fiber of their own, which stands still between two answers.
    class Followed
      include Redacted

      # @return [Boolean] whether there is a redirect to follow
      def self.redirect?(result)
        result.is_a?(Response) && Policy::Redirect::STATUSES.include?(result.status) && !result["location"].nil?
      end

      # @param plan [Composer::Plan] the request, or, without auth, what was sent for it already
      # @param redirect [Policy::Redirect, nil]
      # @param auth [#call, nil] see Policy.carry
      def initialize(plan, redirect, auth = nil)
        # Blocking: a signer may wait for something, and no scheduler knows of this fiber.
        @fiber = Fiber.new(blocking: true) do |answered|
          Policy.carry(plan, redirect, auth) do |step|
            answered ? answered.tap { answered = nil } : Fiber.yield(step)
          end
        end
      end

      # Of a request that auth is to sign.
      # @return [Composer::Plan, StandardError] what to send first, or why nothing can be sent
      def first
        after(nil)
      end

      # @param result [Response, Error]
      # @return [Composer::Plan, Response, StandardError] what to send next, or what it came to
      def after(result)
        return result if result.is_a?(Exception) && !result.is_a?(StandardError) # no policy's

        Interrupts.throwing_on { result.is_a?(Exception) ? @fiber.raise(result) : @fiber.resume(result) }
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : error
      end
    end
  end
end
