# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/database_state_tests"

# Runs in PostgreSQL.
class TestStatePostgresql < BulkTest
  include StateTests
  include DatabaseStateTests

  def self.config = Server.shared(:postgres)&.active_record

  def test_a_database_that_is_restarted
    server = Server.shared(:postgres)
    origin = serve { sleep(0.02) && [200, "ok"] }
    run = bulk(Array.new(300) { |number| origin.url("/#{number}") }, slice: 20, concurrency: 5)
    thread = Thread.new { run.start("run", state: @state, progress: false) }
    2.times do |count|
      eventually("it works") { origin.total > 50 * (count + 1) }
      server.halt
      sleep 0.5
      server.start
    end
    status = thread.value
    assert_equal [:done, 300, { "200" => 300 }], [status.state, status.done, status.counts]
    assert_equal 300, origin.total # nothing came twice: what could not be recorded was kept
  end

  def test_another_database_is_told
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    error = assert_raises(Trunkline::InvalidRequest) { bulk([]).start("run", state: :active_record) }
    assert_match(/is for PostgreSQL and MySQL, and this is SQLite/, error.message)
  ensure
    ActiveRecord::Base.remove_connection
  end
end
