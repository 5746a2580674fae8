# frozen_string_literal: true

module Typhoeus
  # Defined in full in request.rb.
  class Request
    # Callbacks of a request. Callbacks that are set on Typhoeus are called before those of the request.
    module Callbacks
      # A method for each kind of callback, on Typhoeus (for every request) and on each request. It adds its block, if
      # there is one, and returns the Array of all blocks, which may be changed.
      module Types
        %i[on_complete on_success on_failure on_headers on_progress].each do |kind|
          variable = :"@#{kind}"
          define_method(kind) do |&block|
            blocks = instance_variable_get(variable) || instance_variable_set(variable, [])
            blocks << block if block
            blocks
          end

          # @api private
          # @return [Array<Proc>, nil] nil when none was added
          define_method(:"#{kind}_blocks") { instance_variable_get(variable) }
        end
      end

      # @api private
      # @return [Array<Object>] the return values of the callbacks
      def execute_headers_callbacks(response)
        (Typhoeus.on_headers + on_headers).map { |block| block.call(response) }
      end

      # Calls on_complete, then on_success or on_failure. The value of the last block is the response's
      # handled_response.
      #
      # @return [nil]
      def execute_callbacks
        call_blocks(Typhoeus.on_complete_blocks, on_complete_blocks)
        return if response.nil?
        return call_blocks(Typhoeus.on_success_blocks, on_success_blocks) if response.success?

        call_blocks(Typhoeus.on_failure_blocks, on_failure_blocks)
      end

      private

      def call_blocks(*lists)
        lists.each do |list|
          # Iterates over a copy: blocks that a callback adds are not called for this response.
          list&.dup&.each { |block| response.handled_response = block.call(response) } unless list.nil? || list.empty?
        end
        nil
      end
    end
  end
end
