# frozen_string_literal: true

module Trunkline
  module Lab
    class Simulation
      # Events by time: a binary heap. Events of the same time are in the order in which they were pushed.
      class EventQueue
        def initialize
          @heap = []
          @pushed = 0
        end

        # @param time [Float]
        # @param event [#call]
        # @return [void]
        def push(time, event)
          @heap << [time, @pushed += 1, event]
          rise(@heap.size - 1)
        end

        # @return [Array(Float, #call), nil] the next event
        def shift
          first = @heap.first or return
          last = @heap.pop
          unless @heap.empty?
            @heap[0] = last
            sink(0)
          end
          [first[0], first[2]]
        end

        private

        def rise(index)
          while index.positive? && before?(@heap[index], @heap[parent = (index - 1) / 2])
            swap(index, parent)
            index = parent
          end
        end

        def sink(index)
          while (child = (2 * index) + 1) < @heap.size
            other = child + 1
            child = other if other < @heap.size && before?(@heap[other], @heap[child])
            return unless before?(@heap[child], @heap[index])

            swap(index, child)
            index = child
          end
        end

        def before?(one, other) = one[0] < other[0] || (one[0] == other[0] && one[1] < other[1])

        def swap(one, other)
          @heap[one], @heap[other] = @heap[other], @heap[one]
        end
      end
    end
  end
end
