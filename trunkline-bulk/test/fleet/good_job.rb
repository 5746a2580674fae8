# frozen_string_literal: true

require_relative "../support/queue_test"

# A run as jobs of GoodJob, one of whose processes is killed (rake bulk:fleet).
class TestGoodJob < QueueTest
  def queue = "good_job"

  def schema
    <<~RUBY
      file = Dir[Gem.loaded_specs["good_job"].gem_dir + "/lib/generators/**/install/**/create_good_jobs.rb.erb"].first
      eval(ERB.new(File.read(file)).result_with_hash(migration_version: "[7.1]"))
      ActiveRecord::Migration.verbose = false
      CreateGoodJobs.migrate(:up)
    RUBY
  end

  def worker = program('require "good_job/cli"; GoodJob::CLI.start(%w[start --max-threads=4 --poll-interval=1])')

  def test_a_run_whose_process_is_killed
    begin_run
    first = worker
    eventually("it works: #{path("log")}", 60) { @origin.total > 50 }
    Programs.kill(first)
    assert_operator @origin.counts.size, :<, ITEMS
    second = worker
    assert_complete
  ensure
    stop(second) if second
  end
end
