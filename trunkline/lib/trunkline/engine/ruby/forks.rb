# frozen_string_literal: true

require_relative "pool"

module Trunkline
  module Engine
    module Ruby # :nodoc: see waker.rb
      # Makes a forked child drop the parent's connections at once. When Ruby does not call _fork (before 3.1, and in
      # Process.daemon), the pools do it when they are next used.
      module Forks
        def _fork
          super.tap { |pid| Pool.after_fork if pid.zero? }
        end
      end

      Process.singleton_class.prepend(Forks) if Process.respond_to?(:_fork)
    end
  end
end
