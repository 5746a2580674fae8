# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/database_state_tests"

# The State in MariaDB.
class TestStateMariadb < BulkTest
  include StateTests
  include DatabaseStateTests

  def self.server = Server.shared(:mariadb)

  def self.restarts = %i[KILL TERM]
end
