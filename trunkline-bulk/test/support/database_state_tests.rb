# frozen_string_literal: true

require "active_record"
require_relative "servers"
require_relative "state_tests"

# The same in a database of ActiveRecord. `config` of the class: of the connection; nil: there is no server.
module DatabaseStateTests
  def setup
    super
    config = self.class.config or skip "the server is not installed (bin/setup)"
    ActiveRecord::Base.establish_connection(**config, pool: 20)
    connection = ActiveRecord::Base.connection
    connection.tables.each { |table| connection.drop_table(table) }
    @state = Trunkline::Bulk::State::ActiveRecord.new
  end

  def test_its_tables_make_themselves_once
    states = Array.new(4) { Trunkline::Bulk::State::ActiveRecord.new }
    states.map { |one| Thread.new { one.begin_run("Tested/run", 1).id } }.map(&:value).uniq.then do |ids|
      assert_equal 1, ids.size
    end
  end

  def test_a_whole_run
    server = serve
    run = bulk(Array.new(50) { |number| server.url("/#{number}") } + ["http://bad host/"], slice: 7)
    status = run.start("run", state: @state, progress: false)
    assert_equal [:done, 50, 1, 51], [status.state, status.done, status.failed, status.total]
    assert_equal 50, server.counts.size
  end
end
