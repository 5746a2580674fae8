# frozen_string_literal: true

require_relative "../../composer"
require_relative "../../policy"

module Trunkline
  module Facades
    module Typhoeus
      # libcurl's options for redirects.
      module Redirects
        # Keeps the method POST (postredir:).
        class KeepingPost < Policy::Redirect
          # @param statuses [Array<Integer>] statuses of the redirects that keep it
          def initialize(limit, composer, statuses)
            super(limit, composer)
            @statuses = statuses
          end

          def next_method(status, method)
            method == "POST" && @statuses.include?(status) ? method : super
          end
        end

        # Sends credentials to every origin that redirects lead to (unrestricted_auth:).
        class UnrestrictedComposer < Composer
          def credential?(_name) = false
        end
      end
    end
  end
end
