# frozen_string_literal: true

require_relative "pool"

module Trunkline
  module Engine
    module Ruby # :nodoc: see waker.rb
      # Has a forked child let go of what the parent has, at once. Where Ruby does not tell (before 3.1, and after
      # Process.daemon) the pools do it when they are next used.
      module Forks
        def _fork
          super.tap { |pid| Pool.after_fork if pid.zero? }
        end
      end

      Process.singleton_class.prepend(Forks) if Process.respond_to?(:_fork)
    end
  end
end
