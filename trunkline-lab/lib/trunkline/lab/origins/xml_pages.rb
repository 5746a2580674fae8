# frozen_string_literal: true

ENV["RAILS_ENV"] = "production"
require "action_controller/railtie"
require "action_view/railtie"
require "logger"
require_relative "../xml_tasks"

module Trunkline
  module Lab
    module Origins
      # A small Rails application that responds with a small or a long XML document, from a template for the given
      # builder.
      class XMLPages
        VIEWS = File.join(__dir__, "views")
        # Template handlers for builders that Rails does not support: the Ruby code for a template.
        HANDLERS = {
          nokogiri: ->(source) { "Nokogiri::XML::Builder.new(encoding: \"UTF-8\") { |xml| #{source} }.to_xml" },
          ox: ->(source) { "xml = Ox::Builder.new(indent: 2); xml.instruct; #{source}; xml.close; xml.to_s" }
        }.freeze

        # The minimal settings for Rails.
        class Application < ::Rails::Application
          config.load_defaults("#{::Rails::VERSION::MAJOR}.#{::Rails::VERSION::MINOR}")
          config.eager_load = true
          config.logger = ::Logger.new(nil)
          config.secret_key_base = "lab"
          config.hosts.clear
        end

        # Renders the template of the current renderer.
        class RecordsController < ActionController::Base
          prepend_view_path VIEWS

          class << self
            attr_accessor :handler
          end

          def index
            render template: "records/index", formats: [:xml], handlers: [self.class.handler],
                   locals: { records: XMLTasks::SIZES.fetch(params[:size]) }
          end
        end

        # @param renderer [String] "builder", "nokogiri", "ox" or "trunkline"
        def initialize(renderer:)
          require(renderer == "trunkline" ? "trunkline/xml/rails" : renderer)
          RecordsController.handler = handle(renderer.to_sym)
          Application.initialize!
          Application.routes.draw { get "/:size", to: RecordsController.action(:index) }
        end

        def call(env) = Application.call(env)

        private

        # @return [Symbol] file name suffix of the renderer's templates
        def handle(renderer)
          code = HANDLERS[renderer] or return :builder
          ActionView::Template.register_template_handler(renderer, ->(_template, source) { code.call(source) })
          renderer
        end
      end
    end
  end
end
