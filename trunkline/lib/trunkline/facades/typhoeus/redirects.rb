# frozen_string_literal: true

require_relative "../../policy"
require_relative "../../request_builder"

module Trunkline
  module Facades
    module Typhoeus
      # libcurl's options for redirects.
      module Redirects
        # Keeps the method POST (postredir:).
        class KeepingPost < Policy::Redirect
          # @param statuses [Array<Integer>] statuses of the redirects that keep it
          def initialize(limit, builder, statuses)
            super(limit, builder)
            @statuses = statuses
          end

          def next_method(status, method)
            method == "POST" && @statuses.include?(status) ? method : super
          end
        end

        # Sends credentials to every origin that redirects lead to (unrestricted_auth:).
        class UnrestrictedBuilder < RequestBuilder
          def credential?(_name) = false
        end
      end
    end
  end
end
