# frozen_string_literal: true

module Trunkline
  module Insight
    # Tells whether this thread has an ActiveRecord transaction open. The transactions that wrap tests do not count:
    # Rails marks them as not joinable.
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

      # An application that has not loaded ActiveRecord::Base has no transaction, and perhaps no database.
      def self.loaded?
        defined?(::ActiveRecord::Base) && !::ActiveRecord.autoload?(:Base)
      end
      private_class_method :loaded?
    end
  end
end
