# frozen_string_literal: true

require_relative "../test_helper"
require_relative "servers"

# A run as jobs of a queue in PostgreSQL, which also has the state. A subclass defines `queue`, the name of the queue's
# gem, and `schema`, code that creates its tables; it starts the queue's workers with #program.
class QueueTest < BulkTest
  ITEMS = 300
  APPLICATION = <<~'RUBY'
    require "rails"
    require "active_record/railtie"
    require "active_job/railtie"
    require "action_controller/railtie"
    require ENV.fetch("QUEUE")
    require "trunkline/bulk"

    class Application < Rails::Application
      config.root = ENV.fetch("FOLDER")
      config.eager_load = false
      config.secret_key_base = "a" * 64
      config.logger = Logger.new($stderr, level: :warn)
      config.active_job.queue_adapter = ENV.fetch("QUEUE").to_sym
    end
    Application.initialize!
    Trunkline::Bulk.configure { |config| config.state = :active_record }

    class Fetched < Trunkline::Bulk
      source  { (0...Integer(ENV.fetch("ITEMS"))).lazy.map { |number| "#{ENV.fetch("ORIGIN")}/#{number}" } }
      request { |url| url }
      result  { |_url, _response| nil }
      options slice: 25, timeout: 60, lease: 4, jobs: 8, concurrency: 4
    end
  RUBY

  def setup
    super
    @database = Server.postgres or skip "postgresql is not installed (bin/setup)"
    @origin = serve { sleep(0.02) && [200, "ok"] }
    FileUtils.mkdir_p(path("config"))
    File.write(path("config/environment.rb"), APPLICATION)
    @environment = { "FOLDER" => @folder, "ORIGIN" => @origin.url, "QUEUE" => queue, "ITEMS" => ITEMS.to_s,
                     "DATABASE_URL" => "postgresql://postgres@127.0.0.1:#{@database.port}/postgres" }
  end

  def teardown
    @database&.stop
    super
  end

  private

  # @return [Integer] the pid
  def program(code)
    Process.spawn(@environment, RbConfig.ruby, "-W0", *Programs::PATHS, "-e",
                  "require \"./config/environment\"; #{code}", chdir: @folder, out: [path("log"), "a"],
                                                               err: %i[child out])
  end

  def begin_run
    started = Process.wait2(program("#{schema}; puts Fetched.start(\"run\", on: :active_job)")).last
    assert_predicate started, :success?, -> { File.read(path("log")) }
  end

  def assert_complete
    eventually("all is fetched: #{path("log")}", 60) { @origin.counts.size == ITEMS }
    Process.wait(program('sleep 0.1 until Fetched.status("run").state == :done; puts Fetched.status("run")'))
    assert_match(/^run: done, #{ITEMS} done, 0 failed of #{ITEMS}/, File.read(path("log")))
  end

  # Also ends the processes that the process has forked.
  def stop(pid)
    Process.kill(:TERM, pid)
    Process.wait(pid)
  end
end
