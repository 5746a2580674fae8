# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/database_state_tests"

# The State in MySQL itself. MySQL's warnings, such as deprecations, are errors here.
class TestStateMysql < BulkTest
  include StateTests
  include DatabaseStateTests

  # The warning about the width of integers, which ActiveRecord gives to booleans.
  INTEGER_WIDTH = "1681"

  def self.server = Server.shared(:mysql)

  def self.restarts = %i[KILL TERM]

  def setup
    super
    ActiveRecord.db_warnings_ignore = [INTEGER_WIDTH]
    ActiveRecord.db_warnings_action = :raise
  end

  def teardown
    ActiveRecord.db_warnings_action = :ignore
    super
  end

  def missing = "MySQL is not installed (rake bulk:mysql has it in a chroot)"

  def test_it_is_mysql
    refute_predicate ActiveRecord::Base.connection, :mariadb?
  end
end
