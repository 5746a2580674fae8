# frozen_string_literal: true

module Typhoeus
  # Defined in full in request.rb.
  class Request
    # What a request tells on its way. Callbacks of Typhoeus come before those of the request.
    module Callbacks
      # One method for each kind, on Typhoeus itself (for every request) and on each request. With a block it adds
      # that; it returns the Array of all, which may be changed.
      module Types
        %i[on_complete on_success on_failure on_headers on_progress].each do |kind|
          variable = :"@#{kind}"
          define_method(kind) do |&block|
            blocks = instance_variable_get(variable) || instance_variable_set(variable, [])
            blocks << block if block
            blocks
          end

          # @api private
          # @return [Array<Proc>, nil] without making one
          define_method(:"#{kind}_blocks") { instance_variable_get(variable) }
        end
      end

      # @api private
      # @return [Array<Object>] what they returned
      def execute_headers_callbacks(response)
        (Typhoeus.on_headers + on_headers).map { |block| block.call(response) }
      end

      # on_complete, then on_success or on_failure. What the last returned is the response's handled_response.
      #
      # @return [nil]
      def execute_callbacks
        tell(Typhoeus.on_complete_blocks, on_complete_blocks)
        return if response.nil?
        return tell(Typhoeus.on_success_blocks, on_success_blocks) if response.success?

        tell(Typhoeus.on_failure_blocks, on_failure_blocks)
      end

      private

      def tell(*lists)
        lists.each do |list|
          # A copy: a callback may add others, which are for the next time.
          list&.dup&.each { |block| response.handled_response = block.call(response) } unless list.nil? || list.empty?
        end
        nil
      end
    end
  end
end
