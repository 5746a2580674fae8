# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/servers"

# (rake bulk:fleet) Jobs of Solid Queue, whose processes are forked, in the database that has the state, too.
class TestSolidQueue < BulkTest
  APPLICATION = <<~'RUBY'
    require "rails"
    require "active_record/railtie"
    require "active_job/railtie"
    require "action_controller/railtie"
    require "solid_queue"
    require "trunkline/bulk"

    class Application < Rails::Application
      config.root = ENV.fetch("FOLDER")
      config.eager_load = false
      config.secret_key_base = "a" * 64
      config.logger = Logger.new($stderr, level: :warn)
      config.active_job.queue_adapter = :solid_queue
    end
    Application.initialize!
    Trunkline::Bulk.configure { |config| config.state = :active_record }

    class Fetched < Trunkline::Bulk
      source  { (0...500).lazy.map { |number| "#{ENV.fetch("ORIGIN")}/#{number}" } }
      request { |url| url }
      result  { |_url, _answer| nil }
      options slice: 25, timeout: 5, lease: 4, jobs: 8
    end
  RUBY
  SCHEMA = 'load Dir[Gem.loaded_specs["solid_queue"].gem_dir + "/lib/generators/**/queue_schema.rb"].first'

  def setup
    super
    @database = Server.postgres or skip "postgresql is not installed (bin/setup)"
    @origin = serve
    File.write(path("application.rb"), APPLICATION)
    @environment = { "FOLDER" => @folder, "ORIGIN" => @origin.url,
                     "DATABASE_URL" => "postgresql://postgres@127.0.0.1:#{@database.port}/postgres" }
  end

  def teardown
    @database&.stop
    super
  end

  def program(code)
    Process.spawn(@environment, RbConfig.ruby, "-W0", *Programs::PATHS, "-e",
                  "require #{path("application.rb").inspect}; #{code}", out: path("log"), err: %i[child out])
  end

  def test_a_run_on_solid_queue
    started = Process.wait2(program("#{SCHEMA}; puts Fetched.start(\"run\", on: :active_job)")).last
    assert_predicate started, :success?, -> { File.read(path("log")) }
    worker = program("SolidQueue::Supervisor.start(skip_recurring: true)")
    eventually("all is fetched: #{path("log")}", 60) { @origin.counts.size == 500 }
    Process.wait(program('sleep 0.1 until Fetched.status("run").state == :done; puts Fetched.status("run")'))
    assert_match(/^run: done, 500 done, 0 failed of 500/, File.read(path("log")))
  ensure
    if worker
      Process.kill(:TERM, worker) # its forked processes end with it
      Process.wait(worker)
    end
  end
end
