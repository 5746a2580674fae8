# frozen_string_literal: true

require_relative "../state"

module Trunkline
  class Bulk
    class State
      class ActiveRecord < State
        # Creates the tables of runs in a database of the application, when they are first needed: there is no
        # migration.
        #
        # @api private
        module Tables
          PREFIX = "trunkline_bulk_"
          # The last table is created last: if it exists, the others do.
          NAMES = %i[runs slices counts failures reports].freeze
          # Retries, because the creation of a table by two processes at once raises.
          RACE = 5
          private_constant :RACE

          module_function

          # @param connection [ActiveRecord::ConnectionAdapters::AbstractAdapter]
          # @return [void]
          def make(connection)
            tries ||= 0
            return if connection.table_exists?("#{PREFIX}#{NAMES.last}")

            NAMES.each { |name| public_send(name, connection) }
          rescue ::ActiveRecord::StatementInvalid
            raise if (tries += 1) > RACE

            sleep 0.1
            retry
          end

          def runs(connection)
            exact = exact(connection)
            create(connection, :runs) do |table|
              table.string :key, limit: 400, null: false, **exact, index: { unique: true, name: "#{PREFIX}run_keys" }
              table.string :state, limit: 20, null: false
              table.integer :slice_size, null: false
              table.bigint :total
              table.bigint :cut, null: false, default: 0
              table.boolean :cut_all, null: false, default: false
              table.text :cursor
              table.bigint :done, null: false, default: 0
              table.bigint :failed, null: false, default: 0
              table.float :began, limit: 53, null: false
              table.float :ended, limit: 53
              table.text :jobs
              claimed(table, exact)
            end
          end

          def slices(connection)
            create(connection, :slices) do |table|
              table.bigint :run_id, null: false
              table.bigint :first, null: false
              table.binary :positions, limit: 16_777_215
              table.binary :items, null: false, limit: 1_073_741_823
              table.integer :size, null: false
              table.binary :recorded, limit: 16_777_215
              table.integer :attempts, null: false, default: 0
              claimed(table, exact(connection))
              table.index %i[run_id worker id], name: "#{PREFIX}slices_of_runs"
            end
          end

          def counts(connection)
            create(connection, :counts) do |table|
              table.bigint :run_id, null: false
              table.string :outcome, limit: 200, null: false, **exact(connection)
              table.bigint :items, null: false
              table.index %i[run_id outcome], unique: true, name: "#{PREFIX}counts_of_runs"
            end
          end

          def failures(connection)
            create(connection, :failures) do |table|
              table.bigint :run_id, null: false
              table.bigint :position, null: false
              table.binary :item, null: false, limit: 1_073_741_823
              table.string :outcome, limit: 200, null: false
              table.text :message
              table.index %i[run_id position], unique: true, name: "#{PREFIX}failures_of_runs"
            end
          end

          def reports(connection)
            create(connection, :reports) do |table|
              table.bigint :run_id, null: false
              table.string :process, limit: 190, null: false, **exact(connection)
              table.text :figures, null: false
              table.float :lease, limit: 53, null: false
              table.index %i[run_id process], unique: true, name: "#{PREFIX}reports_of_runs"
            end
          end

          def create(connection, name, &block)
            connection.create_table("#{PREFIX}#{name}", if_not_exists: true, &block)
          end

          # The columns of a claim: the worker, the fencing number, and the end of the lease.
          def claimed(table, exact)
            table.string :worker, limit: 190, **exact
            table.bigint :fence, null: false, default: 0
            table.float :lease, limit: 53
          end

          # Options of a text column that identifies rows: by default, MySQL treats "a" as equal to "A", and MariaDB
          # also as equal to "a ". PostgreSQL compares exactly.
          def exact(connection)
            return {} unless connection.respond_to?(:mariadb?)

            { collation: connection.mariadb? ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin" }
          end
        end
      end
    end
  end
end
