# frozen_string_literal: true

require_relative "../settings"

module Trunkline
  module Policy
    class Breaker
      # What may be given as store:.
      module Store
        CHECK = Settings::Check.new("a Trunkline::Policy::Breaker::Stoplight or ::Semian",
                                    ->(value) { value if value.respond_to?(:circuit) })
      end
    end
  end
end
