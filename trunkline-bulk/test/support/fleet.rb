# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "programs"
require_relative "servers"

# Sidekiq processes that work at one run, with a separate Redis and PostgreSQL. Each can be killed at any moment.
class Fleet
  # The code that each Sidekiq process, and each process of #run, loads.
  APPLICATION = <<~'RUBY'
    require "json"
    require "active_record"
    require "active_job"
    require "sidekiq"
    require "sidekiq/rails"
    require "trunkline/bulk"
    ActiveRecord::Base.establish_connection(**JSON.parse(ENV.fetch("DATABASE"), symbolize_names: true), pool: 20)
    ActiveJob::Base.queue_adapter = :sidekiq
    ActiveJob::Base.logger = nil
    Sidekiq.default_configuration.redis = { url: ENV.fetch("QUEUE") }
    Trunkline::Bulk.configure { |config| config.state = :active_record; config.redis = nil }

    class Fetched < Trunkline::Bulk
      source  { (0...Integer(ENV.fetch("ITEMS"))).lazy.map { |number| ENV.fetch("ORIGIN") + number.to_s } }
      request { |url| url }
      options slice: Integer(ENV.fetch("SLICE")), concurrency: 8, timeout: 60, lease: 4, attempts: 100
      result  { |_url, _response, key| File.write(ENV.fetch("RESULTS") + ".#{$$}", "#{key}\n", mode: "a") }
    end
  RUBY

  attr_reader :redis, :database, :processes

  # @param folder [String] for logs and results
  # @param origin [String] URL to which the number of an item is appended
  def initialize(folder, origin:, items:, slice:)
    @folder = folder
    @redis = Server.redis("--appendonly", "yes", "--appendfsync", "always")
    @database = Server.postgres
    @application = File.join(folder, "application.rb")
    File.write(@application, APPLICATION)
    @environment = { "DATABASE" => JSON.generate(@database.active_record), "QUEUE" => @redis.url, "ORIGIN" => origin,
                     "ITEMS" => items.to_s, "SLICE" => slice.to_s, "RESULTS" => File.join(folder, "results") }
    @processes = []
    @started = 0
  end

  def start(count = 1, concurrency: 4)
    count.times do
      log = File.join(@folder, "sidekiq#{@started += 1}.log")
      @processes << Process.spawn(@environment, RbConfig.ruby, "-W0", *Programs::PATHS, "-S", "sidekiq", "-r",
                                  @application, "-c", concurrency.to_s, "-q", "default", out: log, err: %i[child out])
    end
  end

  # Kills a process, and starts another in its place.
  def replace
    Programs.kill(@processes.shift)
    start
  end

  # Runs code in a separate process.
  # @return [String] the output of the process
  def run(code)
    output = IO.popen([@environment, RbConfig.ruby, "-W0", *Programs::PATHS, "-e",
                       "require #{@application.inspect}; #{code}", { err: %i[child out] }], &:read)
    raise output unless $?.success? # rubocop:disable Style/SpecialGlobalVars -- it is read at once

    output
  end

  # @return [Array<String>] the keys of all items whose result block was called
  def results = Dir[File.join(@folder, "results.*")].flat_map { |file| File.readlines(file, chomp: true) }

  def logs = Dir[File.join(@folder, "*.log")].map { |file| File.read(file).lines.last(20).join }.join("\n---\n")

  def stop
    @processes.each { |pid| Programs.kill(pid) }
    [@redis, @database].each { |server| server&.stop }
  end
end
