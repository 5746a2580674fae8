# frozen_string_literal: true

require "json"
require "sqlite3"
require_relative "../results"

module Trunkline
  class Bulk
    module Results
      # The table "results" of a file of SQLite, by key: an item that comes twice is there once.
      class Table
        AT_ONCE = 1_000
        private_constant :AT_ONCE

        # @param path [String]
        def initialize(path)
          @db = SQLite3::Database.new(path)
          @db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
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

          names = prepare(@rows.first.keys | ["file"])
          @db.transaction(:immediate) do
            @rows.each { |row| @insert.execute(*row.values_at(*names).map { |one| value(one) }) }
          end
          @rows.clear
        end

        # @return [void]
        def close
          flush
          @insert&.close
          @db.close
        end

        private

        def prepare(names)
          return @names if @insert

          columns = names.map { |name| name == "key" ? "key TEXT PRIMARY KEY" : name }
          @db.execute("CREATE TABLE IF NOT EXISTS results (#{columns.join(", ")})")
          marks = names.map { "?" }.join(", ")
          @insert = @db.prepare("INSERT OR REPLACE INTO results (#{names.join(", ")}) VALUES (#{marks})")
          @names = names
        end

        def value(one) = one.is_a?(Hash) ? JSON.generate(one) : one
      end
    end
  end
end
