# frozen_string_literal: true

# A small Rails application under Puma, with one template for a long and one for a short document.
# ruby server.rb RENDERER PORT_PIPE: RENDERER is builder, nokogiri or trunkline; the port is told by standard output.

ENV["BUNDLE_GEMFILE"] ||= File.expand_path("../Gemfile", __dir__)
ENV["RAILS_ENV"] = "production"
require "bundler/setup"
require "action_controller/railtie"
require "action_view/railtie"
require "puma"
require "puma/server"
require_relative "../support/documents"

RENDERER = ARGV.fetch(0)

case RENDERER
when "trunkline"
  $LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
  require "trunkline/xml/rails"
when "nokogiri"
  require "nokogiri"
  handler = lambda do |_template, source|
    "Nokogiri::XML::Builder.new(encoding: \"UTF-8\") { |xml| #{source} }.to_xml"
  end
  ActiveSupport.on_load(:action_view) { ActionView::Template.register_template_handler(:nokogiri, handler) }
when "builder" then nil
else abort "unknown renderer #{RENDERER}"
end

class Application < Rails::Application
  config.load_defaults 7.1
  config.eager_load = true
  config.logger = Logger.new(nil)
  config.secret_key_base = "benchmark"
  config.hosts.clear
end

class RecordsController < ActionController::Base
  prepend_view_path File.expand_path("views", __dir__)

  def show
    handler = RENDERER == "nokogiri" ? :nokogiri : :builder
    render template: "records/#{params[:size] == "large" ? "large" : "small"}", formats: [:xml], handlers: [handler],
           locals: { records: Documents::RECORDS }
  end
end

Application.initialize!
Application.routes.draw { get "/:size", to: "records#show" }

server = Puma::Server.new(Application, nil, min_threads: 1, max_threads: 1, log_writer: Puma::LogWriter.null)
server.add_tcp_listener("127.0.0.1", 0)
puts server.connected_ports.first
$stdout.flush
Thread.new do
  $stdin.read # ends with the benchmark
  server.stop(true)
end
server.run.join
