# frozen_string_literal: true

require_relative "waker"

module Trunkline
  module Engine
    module Ruby
      # The limit of response bytes that the HTTP/2 streams of the whole process may buffer (max_buffered_bytes). Each
      # stream reserves its window, which the server may fill at any time.
      module Budget
        USUAL = 256 * 1024 * 1024
        private_constant :USUAL

        @lock = StepLock.new
        @limit = USUAL
        @used = 0

        class << self
          attr_reader :limit, :used

          # @param bytes [Integer, nil] nil: the usual limit
          def limit=(bytes)
            @limit = bytes || USUAL
          end

          # @param margin [Integer] bytes that must remain unreserved
          # @return [Boolean]
          def reserve(bytes, margin = 0)
            @lock.synchronize do
              next false if @used + bytes + margin > @limit

              @used += bytes
              true
            end
          end

          def release(bytes)
            @lock.synchronize { @used -= bytes }
          end

          # Called in a forked child, where nothing is reserved.
          def after_fork
            @lock = StepLock.new
            @used = 0
          end
        end
      end
    end
  end
end
