# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/state_tests"

# The State in an SQLite file.
class TestStateSQLite < BulkTest
  include StateTests

  def setup
    super
    @state = Trunkline::Bulk::State.of(state)
  end
end
