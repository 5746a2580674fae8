# frozen_string_literal: true

require_relative "../support/queue_test"

# A run as jobs of Solid Queue, whose processes are forked (rake bulk:fleet).
class TestSolidQueue < QueueTest
  def queue = "solid_queue"

  def schema = 'load Dir[Gem.loaded_specs["solid_queue"].gem_dir + "/lib/generators/**/queue_schema.rb"].first'

  def test_a_run
    begin_run
    worker = program("SolidQueue::Supervisor.start(skip_recurring: true)")
    assert_complete
  ensure
    stop(worker) if worker
  end
end
