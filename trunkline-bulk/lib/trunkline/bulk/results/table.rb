# frozen_string_literal: true

require "json"
require "sqlite3"
require_relative "../results"

module Trunkline
  class Bulk
    module Results
      # Writes the table "results" of an SQLite file. The primary key is `key`: an item that occurs twice has one row.
      class Table
        AT_ONCE = 1_000
        private_constant :AT_ONCE

        # @param path [String]
        # @param columns [Array<String>]
        # @raise [SQLite3::Exception]
        def initialize(path, columns)
          @db = SQLite3::Database.new(path)
          @db.busy_timeout = 10_000
          @db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
          @columns = columns
          create_table
          marks = columns.map { "?" }.join(", ")
          @insert = @db.prepare("INSERT OR REPLACE INTO results (#{columns.join(", ")}) VALUES (#{marks})")
          @rows = []
        end

        # @param row [Hash]
        def <<(row)
          @rows << row
          flush if @rows.size >= AT_ONCE
          self
        end

        # @return [void]
        def flush
          return if @rows.empty?

          @db.transaction(:immediate) do
            @rows.each { |row| @insert.execute(*row.values_at(*@columns).map { |value| convert(value) }) }
          end
          @rows.clear
        end

        # @param flush [Boolean] false to discard the buffered rows
        # @return [void]
        def close(flush: true)
          self.flush if flush
        ensure
          @insert.close
          @db.close
        end

        private

        # Adds columns to an existing table, because a run may be resumed with other fields.
        def create_table
          columns = @columns.map { |name| name == "key" ? "key TEXT PRIMARY KEY" : name }
          @db.execute("CREATE TABLE IF NOT EXISTS results (#{columns.join(", ")})")
          existing = @db.table_info("results").map { |column| column["name"] }
          (@columns - existing).each { |name| @db.execute("ALTER TABLE results ADD COLUMN #{name}") }
        end

        def convert(value) = value.is_a?(Hash) ? JSON.generate(value) : value
      end
    end
  end
end
