# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # The end of the process, on JRuby: it runs finalizers, then closes sockets, and ends the other threads last. A
      # thread whose wait ends meanwhile would tell of a connection that broke off; it ends at once, as on CRuby.
      module EndingOnJRuby
        # Its finalizer runs after the blocks of at_exit.
        KEPT = Object.new
        private_constant :KEPT

        @begun = false

        class << self
          # Waits by its block.
          def guarded
            result = yield
            leave
            result
          rescue IOError
            leave
            raise
          end

          # Finalizers run in a thread of their own before, and in the main thread then.
          def finalizing? = Thread.current.equal?(Thread.main)

          private

          def leave
            Thread.exit if @begun && !Thread.current.equal?(Thread.main)
          end
        end

        ObjectSpace.define_finalizer(KEPT, proc { @begun = true })
      end
    end
  end
end
