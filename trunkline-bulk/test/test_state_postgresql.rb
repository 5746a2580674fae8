# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/database_state_tests"

# The State in PostgreSQL.
class TestStatePostgresql < BulkTest
  include StateTests
  include DatabaseStateTests

  def self.server = Server.shared(:postgres)

  def self.restarts = %i[KILL INT]

  def test_another_database_is_told
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    error = assert_raises(Trunkline::InvalidRequest) { bulk([]).start("run", state: :active_record) }
    assert_match(/is for PostgreSQL and MySQL, and this is SQLite/, error.message)
  ensure
    ActiveRecord::Base.remove_connection
  end
end
