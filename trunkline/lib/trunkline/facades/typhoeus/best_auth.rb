# frozen_string_literal: true

require_relative "../../policy"
require_relative "../../redacted"

module Trunkline
  module Facades
    module Typhoeus
      # Answers a server's challenges with the best scheme that both sides support: Digest before Basic. Serves as the
      # auth: option of a client (see Policy::Auth).
      class BestAuth
        include Redacted

        # @param schemes [Array<Symbol>] :digest, :basic
        def initialize(user, password, schemes)
          @digest = Policy::Auth::Digest.new(user, password) if schemes.include?(:digest)
          if schemes.include?(:basic)
            @basic = { "Authorization" => "Basic #{["#{user}:#{password}"].pack("m0")}" }.freeze
          end
          @wants_basic = {}.freeze # by origin; replaced, not changed, since calls in other threads read it
        end

        def sign(request)
          @wants_basic[request.uri.origin] ? @basic : @digest&.sign(request)
        end

        def retry?(response)
          offered = Policy::Auth::Challenge.parse(response.headers.get_all("WWW-Authenticate")).map(&:scheme)
          return @digest.retry?(response) if @digest && offered.include?("digest")
          return false if @basic.nil? || !offered.include?("basic") || refused?(response)

          @wants_basic = { **@wants_basic, response.request.uri.origin => true }.freeze
          true
        end

        private

        def refused?(response)
          response.request.headers["Authorization"]&.start_with?("Basic ")
        end
      end
    end
  end
end
