# frozen_string_literal: true

require "rails"
require "tmpdir"
require "action_controller/railtie"
require "active_job/railtie"
require "active_record/railtie"
require "trunkline/bulk"

# The application; what is its own is in app/.
class FeedReader < Rails::Application
  folder = ENV.fetch("DATA") { Dir.mktmpdir("feed-reader-") }
  config.root = __dir__
  config.eager_load = false
  config.autoload_paths << File.join(__dir__, "app")
  config.secret_key_base = ENV.fetch("SECRET_KEY_BASE") { SecureRandom.hex(64) }
  config.hosts.clear
  config.logger = Logger.new($stderr, level: :warn)
  # One thread for jobs: before Rails 8, a thread that waits for another one's write to SQLite keeps that from going on.
  config.active_job.queue_adapter =
    ENV["QUEUE_ADAPTER"]&.to_sym || ActiveJob::QueueAdapters::AsyncAdapter.new(min_threads: 1, max_threads: 1)
  ENV["DATABASE_URL"] ||= "sqlite3:#{File.join(folder, "feeds.sqlite")}?timeout=5000"

  Trunkline::Bulk.configure do |bulk|
    bulk.state = ENV["BULK_STATE"] == "active_record" ? :active_record : File.join(folder, "runs.sqlite")
  end
end

Rails.application.initialize!

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table :feeds, if_not_exists: true do |table|
    table.string :url, null: false, index: { unique: true }
    table.string :etag
    table.integer :status
    table.string :error
    table.text :body
    table.string :refreshed_by
  end
end

Rails.application.routes.draw do
  resources :feeds, only: %i[index create]
  resources :refreshes, only: :create
  mount Trunkline::Bulk::Web => "/bulk" # for administrators alone, in earnest
end
