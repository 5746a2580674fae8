# frozen_string_literal: true

ENV["RAILS_ENV"] = "test"
require_relative "upstream"
UPSTREAM = Upstream.new
ENV["CATALOG_URL"] = UPSTREAM.url

require_relative "../config/environment"
require "action_dispatch/testing/integration"

RSpec.configure do |config|
  config.include ActionDispatch::Integration::Runner
  config.include(Module.new { def app = Rails.application })
  config.disable_monkey_patching!
end
