# frozen_string_literal: true

require_relative "../policy/redirect"

module Trunkline
  module Many
    # The redirects of one request among many. The policy is written for one call that waits for each answer; here it
    # runs in a fiber of its own, which stands still between two answers.
    class Followed
      # @return [Boolean] whether the policy has something to do
      def self.redirect?(result)
        result.is_a?(Response) && Policy::Redirect::STATUSES.include?(result.status) && !result["location"].nil?
      end

      # @param plan [Composer::Plan] what was sent first
      def initialize(plan, limit, composer)
        @fiber = Fiber.new do |first|
          Policy::Redirect.new(limit, composer).follow(plan) do |step|
            step.equal?(plan) ? first : Fiber.yield(step)
          end
        end
      end

      # @param result [Response, Error]
      # @return [Composer::Plan, Response, Error] what to send next, or what it came to
      def after(result)
        result.is_a?(Exception) ? @fiber.raise(result) : @fiber.resume(result)
      rescue Error => error
        error
      end
    end
  end
end
