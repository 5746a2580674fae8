# frozen_string_literal: true

module Trunkline
  module Insight
    # Whether ActiveRecord, if it is loaded, has a transaction open in this thread. Those that tests are wrapped in do
    # not count: Rails marks them as not joinable.
    #
    # @api private
    module Transaction
      # @return [Boolean]
      def self.open?
        return false unless defined?(::ActiveRecord::Base)

        ::ActiveRecord::Base.connection_handler.connection_pool_list(:all).any? do |pool|
          transaction = pool.active_connection?&.current_transaction
          transaction&.open? && transaction.joinable?
        end
      end
    end
  end
end
