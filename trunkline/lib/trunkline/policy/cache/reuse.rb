# frozen_string_literal: true

module Trunkline
  module Policy
    class Cache
      # Decides whether a stored response may be used without contacting the server (RFC 9111 4.2, 5.2.1, RFC 5861).
      #
      # @api private
      module Reuse
        module_function

        # @param directives [Directives] of the request
        # @param freshness [Freshness]
        # @param age [Float] seconds
        # @return [Symbol] :fresh; :stale, which the caller accepts; :while_revalidate, if it is to be validated in the
        #   background; or the reason against it: :request (not fresh enough for the caller) or :expired
        def of(directives, freshness, age)
          left = freshness.lifetime - age
          return :request if directives.any? && refused?(directives, age, left)
          return :expired if freshness.no_cache
          return :fresh if left.positive?

          stale(directives, freshness, -left)
        end

        # @return [Boolean] whether a stale response may be returned instead of an error
        def instead_of_error?(directives, freshness, age)
          return false if freshness.strict || freshness.no_cache

          age - freshness.lifetime <= [freshness.if_error, directives.seconds("stale-if-error") || 0].max
        end

        def stale(directives, freshness, stale_for)
          return :expired if freshness.strict
          return :stale if patient?(directives, stale_for)

          stale_for < freshness.while_revalidate && !directives.key?("max-age") ? :while_revalidate : :expired
        end

        def refused?(directives, age, left)
          oldest = directives.seconds("max-age")
          needed = directives.seconds("min-fresh")
          directives.key?("no-cache") || (oldest && age >= oldest) || (needed && left < needed) || false
        end

        def patient?(directives, stale_for)
          directives.bare?("max-stale") || stale_for <= (directives.seconds("max-stale") || -1)
        end

        private_class_method :stale, :refused?, :patient?
      end
    end
  end
end
