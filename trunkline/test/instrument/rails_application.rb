# frozen_string_literal: true

# A Rails application whose page makes calls to the server at ARGV[0]; it prints its log.

require "stringio"
require "rails"
require "action_controller/railtie"
require "rack/mock"
require "trunkline"

LOG = StringIO.new

# The smallest application that logs like Rails.
class Application < Rails::Application
  config.eager_load = false
  config.secret_key_base = "none"
  config.hosts.clear
  config.log_tags = [->(_) { "tag" }]
  config.logger = ActiveSupport::TaggedLogging.new(Logger.new(LOG))
  config.log_level = ARGV[1].to_sym
end
Application.initialize!

HTTP = Trunkline.new(ARGV[0], timeout: 5)

# rubocop:disable Style/OneClassPerFile -- a program

# An action with single, concurrent and background calls, and an action without calls.
class PagesController < ActionController::Base
  def calls
    HTTP.get("/one", params: { token: "secret" })
    HTTP.map(["/two", "/three"])
    HTTP.async.get("/four").value
    render plain: "ok"
  end

  def none = render(plain: "ok")
end
# rubocop:enable Style/OneClassPerFile

Application.routes.draw do
  get "/calls" => "pages#calls"
  get "/none" => "pages#none"
end

%w[/calls /none].each { |path| Rack::MockRequest.new(Application).get(path) }
puts LOG.string
