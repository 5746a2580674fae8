# frozen_string_literal: true

require "action_controller/railtie"

# A shop that requests its products from another service, the catalog.
module Shop
  class Application < Rails::Application
    config.load_defaults 7.2
    config.eager_load = Rails.env.production?
    config.consider_all_requests_local = false
    config.secret_key_base = "0" * 64
    config.logger = Logger.new(File::NULL)
    config.hosts.clear
    config.api_only = true
  end
end
