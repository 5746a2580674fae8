# frozen_string_literal: true

require_relative "../../composer"
require_relative "../../policy"

module Trunkline
  module TyphoeusFace
    # What libcurl may be told about redirects.
    module Redirects
      # A POST stays one (postredir:).
      class KeepingPost < Policy::Redirect
        # @param statuses [Array<Integer>] of which redirects
        def initialize(limit, composer, statuses)
          super(limit, composer)
          @statuses = statuses
        end

        def next_method(status, method)
          method == "POST" && @statuses.include?(status) ? method : super
        end
      end

      # Credentials go wherever the answers lead (unrestricted_auth:).
      class UnrestrictedComposer < Composer
        def credential?(_name) = false
      end
    end
  end
end
