# frozen_string_literal: true

require_relative "../../policy"
require_relative "../../request_builder"

module Trunkline
  module Facades
    module Typhoeus
      # libcurl's options for redirects.
      module Redirects
        # Keeps the method POST (postredir:), and sends the redirecting URL as Referer (autoreferer:).
        class Follower < Policy::Redirect
          # @param statuses [Array<Integer>] statuses of the redirects that keep POST
          # @param referring [Boolean]
          def initialize(limit, builder, statuses, referring)
            super(limit, builder)
            @statuses = statuses
            @referring = referring
          end

          def next_method(status, method)
            method == "POST" && @statuses.include?(status) ? method : super
          end

          private

          # As in libcurl, the URL in Referer has no user, password and fragment.
          def next_fields(request, *)
            return super unless @referring

            super.reject { |name, _| name.casecmp?("referer") } << ["Referer", request.url]
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
