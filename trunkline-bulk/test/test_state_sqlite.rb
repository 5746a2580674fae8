# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/state_tests"

# Runs in a file of SQLite.
class TestStateSQLite < BulkTest
  include StateTests

  def setup
    super
    @state = Trunkline::Bulk::State.of(state)
  end
end
