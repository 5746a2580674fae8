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
        return false unless loaded?

        ::ActiveRecord::Base.connection_handler.connection_pool_list(:all).any? do |pool|
          transaction = pool.active_connection?&.current_transaction
          transaction&.open? && transaction.joinable?
        end
      end

      # Whoever has not loaded it has no transaction, and perhaps no database.
      def self.loaded?
        defined?(::ActiveRecord::Base) && !::ActiveRecord.autoload?(:Base)
      end
      private_class_method :loaded?
    end
  end
end
