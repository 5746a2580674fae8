# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # At the end of the process, JRuby runs finalizers, then closes sockets, and ends the other threads last. A thread
      # whose wait fails meanwhile would report a broken connection; it is ended at once, as on CRuby.
      module EndingOnJRuby
        # Its finalizer runs after the blocks of at_exit.
        KEPT = Object.new
        private_constant :KEPT

        @begun = false

        class << self
          # Runs a block that waits.
          def guarded
            result = yield
            leave
            result
          rescue IOError
            leave
            raise
          end

          # Finalizers run in a separate thread until the process ends, and then in the main thread.
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
